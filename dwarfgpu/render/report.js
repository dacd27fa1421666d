(function () {
  "use strict";
  var root = document.documentElement;
  function all(selector, from) { return Array.prototype.slice.call((from || document).querySelectorAll(selector)); }

  var theme = document.getElementById("theme"), names = ["system", "light", "dark"], chosen = 0;
  theme.hidden = false;
  theme.addEventListener("click", function () {
    chosen = (chosen + 1) % 3;
    if (chosen) { root.setAttribute("data-theme", names[chosen]); } else { root.removeAttribute("data-theme"); }
    theme.textContent = "Colours: " + names[chosen];
  });

  all("[data-opens]").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      var folds = all("#" + button.getAttribute("data-opens") + " > details:not([hidden])");
      var isOpen = folds.some(function (fold) { return !fold.open; });
      folds.forEach(function (fold) { fold.open = isOpen; });
    });
  });

  var filter = document.getElementById("filter");
  if (filter) {
    var rows = all("#functions > details, #functions > .row"), said = document.getElementById("filtered");
    filter.parentNode.hidden = false;
    filter.addEventListener("input", function () {
      var wanted = filter.value.trim().toLowerCase(), count = 0;
      rows.forEach(function (row) {
        row.hidden = row.querySelector(".name").textContent.toLowerCase().indexOf(wanted) < 0;
        count += row.hidden ? 0 : 1;
      });
      said.textContent = wanted ? count + " of " + rows.length + " functions on this page" : "";
    });
    document.addEventListener("keydown", function (event) {
      var field = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (event.key === "/" && !field && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        filter.focus();
      } else if (event.key === "Escape" && event.target === filter) {
        filter.value = "";
        filter.dispatchEvent(new Event("input"));
      }
    });
  }

  all(".pick").forEach(function (picture) {
    var readout = picture.nextElementSibling, now = null;
    function parts() {
      return all("title", picture).map(function (title) { return title.parentNode; }).filter(function (part) {
        return part.tagName.toLowerCase() !== "svg";
      });
    }
    function show(part, marks) {
      if (now) { now.classList.remove("at"); }
      now = part;
      if (marks) { part.classList.add("at"); }
      readout.textContent = part.querySelector("title").textContent;
    }
    function middle(part) { var box = part.getBoundingClientRect(); return [box.left + box.width / 2, box.top]; }
    picture.addEventListener("focus", function () {
      if (!now) { readout.textContent = "The arrow keys go from part to part."; }
    });
    picture.addEventListener("pointerover", function (event) {
      var part = event.target;
      while (part && part !== picture && !(part.firstElementChild && part.firstElementChild.tagName === "title")) {
        part = part.parentNode;
      }
      if (part && part !== picture && part.tagName.toLowerCase() !== "svg") { show(part, false); }
    });
    picture.addEventListener("keydown", function (event) {
      var way = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 2, ArrowUp: -2 }[event.key];
      if (!way) { return; }
      event.preventDefault();
      var known = parts(), index = known.indexOf(now), next = null;
      if (index < 0) {
        next = known[0];
      } else if (way === 1 || way === -1) {
        next = known[index + way];
      } else {
        var here = middle(now), best = null;
        known.forEach(function (part) {
          var place = middle(part), down = (place[1] - here[1]) * (way > 0 ? 1 : -1);
          if (down > 2) {
            var far = down * 1000 + Math.abs(place[0] - here[0]);
            if (best === null || far < best) { best = far; next = part; }
          }
        });
      }
      if (next) {
        show(next, true);
        if (next.scrollIntoView) { next.scrollIntoView({ block: "nearest", inline: "nearest" }); }
      }
    });
  });
})();
