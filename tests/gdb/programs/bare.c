/* Calls through code without call frame information, which GDB unwinds by looking at its instructions. */
volatile int sink;
void stop_here(int code) { sink = code; }
void bare(int code);
__asm__(".text\n.globl bare\n.type bare,@function\nbare:\n push %rbp\n mov %rsp,%rbp\n mov $0x1234,%ebx\n"
        " call stop_here\n pop %rbp\n ret\n.size bare,.-bare\n");
static int middle(int n)
{
  int doubled = 2 * n, many[3] = {n, n + 1, n + 2};
  bare(doubled);
  return doubled + many[1];
}
int main(int argc, char **argv)
{
  int start = argc + 10;
  return middle(start) & (argv != 0);
}
