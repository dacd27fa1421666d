// Sessions with `dwarfgpu dap`, driven by the test client of VS Code: node session.js PYTHON ADAPTER ROOT
const assert = require("assert");
const { DebugClient } = require("@vscode/debugadapter-testsupport");

const [python, adapter, root] = process.argv.slice(2);
const kernels = `${root}/fixtures/src/opencl/kernels.cl`;
const launch = {
  program: `${root}/fixtures/amdgpu/cl-kernels.gfx90a.w64.O0.v5.co`, directories: `${root}/fixtures`,
  kernel: "divergent", grid: 128, workGroup: 64, args: { out: "zeros(128)", limit: 40 },
};
const endless = { ...launch, args: { out: "zeros(128)", limit: -2000000000 } };

async function session(run) {
  const client = new DebugClient(python, adapter, "dwarfgpu");
  client.defaultTimeout = 30000;
  await client.start();
  await run(client);
  await client.stop();
}

async function value(client, expression, threadId = 1) {
  const frames = (await client.stackTraceRequest({ threadId })).body.stackFrames;
  return (await client.evaluateRequest({ expression, frameId: frames[0].id, context: "watch" })).body.result;
}

const sessions = {
  async "a breakpoint, lanes, and steps both ways"(client) {
    await client.hitBreakpoint(launch, { path: kernels, line: 88 });
    assert.strictEqual(await value(client, "$_lane"), "0");
    await client.customRequest("dwarfgpu/setLane", { threadId: 1, lane: 3 });
    assert.strictEqual(await value(client, "$_lane"), "3");
    for (const [request, line] of [["nextRequest", 89], ["stepBackRequest", 88], ["stepInRequest", 89]]) {
      await Promise.all([client[request]({ threadId: 1 }), client.assertStoppedLocation("step", { path: kernels, line })]);
    }
  },

  async "a condition, and a change of data"(client) {
    const breakpoints = [{ line: 100, condition: "rest == 23 && step > 2" }];
    await Promise.all([
      client.waitForEvent("initialized").then(async () => {
        const set = await client.setBreakpointsRequest({ source: { path: kernels }, breakpoints });
        assert.deepStrictEqual(set.body.breakpoints.map((each) => each.verified), [true]);
        await client.configurationDoneRequest();
      }),
      client.launch(launch),
      client.assertStoppedLocation("breakpoint", { path: kernels, line: 100 }),
    ]);
    assert.strictEqual(await value(client, "step"), "3");
    const frameId = (await client.stackTraceRequest({ threadId: 1 })).body.stackFrames[0].id;
    const info = (await client.dataBreakpointInfoRequest({ name: "result", frameId })).body;
    await client.setDataBreakpointsRequest({ breakpoints: [{ dataId: info.dataId, accessType: "write" }] });
    const [event] = await Promise.all([client.waitForEvent("stopped"), client.continueRequest({ threadId: 1 })]);
    assert.strictEqual(event.body.reason, "data breakpoint");
  },

  async "a fault"(client) {
    const bad = { ...launch, args: { out: "0x10", limit: 40 } };
    await Promise.all([
      client.configurationSequence(), client.launch(bad), client.assertStoppedLocation("exception", { path: kernels }),
    ]);
    const info = (await client.exceptionInfoRequest({ threadId: 1 })).body;
    assert.strictEqual(info.exceptionId, "MEMORY_VIOLATION");
  },

  async "a state that was saved"(client) {
    const state = `${root}/dwarfgpu/examples/variables.json`;
    const program = `${root}/fixtures/asm/lane-pc.gfx90a.w64.co`;
    await Promise.all([
      client.waitForEvent("stopped"),
      client.waitForEvent("initialized").then(() => client.configurationDoneRequest()),
      client.initializeRequest().then(() => client.attachRequest({ program, state })),
    ]);
    await assert.rejects(client.continueRequest({ threadId: 1 }), /cannot run on/);
  },

  async "a pause, and a restart"(client) {
    await Promise.all([client.configurationSequence(), client.launch(endless)]);
    await Promise.all([client.waitForEvent("stopped"), client.pauseRequest({ threadId: 1 })]);
    await client.setBreakpointsRequest({ source: { path: kernels }, breakpoints: [{ line: 86 }] });
    await Promise.all([
      client.restartRequest({}), client.assertStoppedLocation("breakpoint", { path: kernels, line: 86 }),
    ]);
  },

  async "the end"(client) {
    await Promise.all([client.configurationSequence(), client.launch(launch), client.waitForEvent("terminated")]);
  },
};

(async () => {
  for (const [name, run] of Object.entries(sessions)) {
    await session(run);
    console.log(name);
  }
  await Promise.all([session(sessions["a fault"]), session(sessions["a condition, and a change of data"])]);
  console.log("two sessions");
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
