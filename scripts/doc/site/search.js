// Finds headings and their text in window.JFL_INDEX, whose rows are [title, address, page, text].
// An address that ends in ?q=WORDS shows what is found.
"use strict";
(function () {
  const MOST = 20;
  const input = document.getElementById("search");
  const list = document.getElementById("results");
  let chosen = -1;

  // On a wide screen the menu is open, and shows where the page is.
  const menu = document.querySelector(".menu");
  const wide = window.matchMedia("(min-width: 48.01rem)");
  wide.addEventListener("change", () => { menu.open = wide.matches; });
  const current = menu.querySelector("[aria-current]");
  if (current && wide.matches) current.scrollIntoView({ block: "nearest" });

  const rows = (window.JFL_INDEX || []).map(([title, address, page, text]) =>
    ({ title, address, page, text, head: title.toLowerCase(), low: text.toLowerCase() }));

  // How well a row fits a word: a title that is it or ends in it, then one that begins with it or
  // holds it, then the text.
  function worth(row, word) {
    const name = row.head.replace(/[({].*/, "");
    if (name === word || name.endsWith("." + word) || name.endsWith(":" + word)) return 100;
    if (row.head.startsWith(word) || name.includes("." + word)) return 60;
    if (row.head.includes(word)) return 40;
    if (row.page.toLowerCase().includes(word)) return 15;
    return row.low.includes(word) ? 10 : 0;
  }

  function find(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [];
    for (const row of rows) {
      const each = words.map((word) => worth(row, word));
      if (words.length && each.every(Boolean)) {
        found.push({ row, worth: each.reduce((a, b) => a + b, 0) });
      }
    }
    found.sort((a, b) => b.worth - a.worth || a.row.title.length - b.row.title.length);
    return found.slice(0, MOST).map((f) => f.row);
  }

  function excerpt(row, query) {
    const word = query.toLowerCase().split(/\s+/).filter(Boolean)[0] || "";
    const at = row.head.includes(word) ? 0 : row.low.indexOf(word);
    const from = at > 40 ? row.text.indexOf(" ", at - 40) : 0;
    const part = row.text.slice(from, from + 110);
    const whole = from + 110 >= row.text.length;
    return (from ? "…" : "") + (whole ? part : part.replace(/\s\S*$/, "…")).trim();
  }

  function element(name, text, parent) {
    const made = document.createElement(name);
    made.textContent = text;
    parent.appendChild(made);
    return made;
  }

  function show() {
    const query = input.value.trim();
    const found = find(query);
    list.textContent = "";
    chosen = -1;
    list.hidden = !query;
    if (query && !found.length) element("li", "Nothing is found.", list).className = "none";
    for (const row of found) {
      const link = element("a", "", element("li", "", list));
      link.href = row.address;
      element("b", row.title, link);
      element("small", (row.title === row.page ? "" : row.page + " · ") + excerpt(row, query), link);
    }
  }

  function choose(step) {
    const items = list.querySelectorAll("li:not(.none)");
    if (!items.length) return;
    if (chosen >= 0) items[chosen].classList.remove("chosen");
    chosen = (chosen + step + items.length) % items.length;
    items[chosen].classList.add("chosen");
    items[chosen].scrollIntoView({ block: "nearest" });
  }

  input.addEventListener("input", show);
  input.addEventListener("focus", show);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(event.key === "ArrowDown" ? 1 : chosen < 0 ? 0 : -1);
    } else if (event.key === "Enter") {
      const link = list.querySelectorAll("li a")[Math.max(chosen, 0)];
      if (link) link.click();
      list.hidden = true;
    } else if (event.key === "Escape") {
      list.hidden = true;
      input.blur();
    }
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      input.focus();
    }
  });
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) {
    input.value = asked;
    show();
  }
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".search")) list.hidden = true;
  });
})();
