// The panel of the source.

addMethods(View, {
  drawSource() {
    const panel = this.find(".source"), { file, line } = this.event;
    if (panel.dataset.file !== file && this.data.sources[file] !== undefined) {
      panel.dataset.file = file;
      let before = 0, shown = 0;  // a line that is aligned below a parenthesis is indented 8 columns more than the line above
      panel.replaceChildren(...this.data.sources[file].split("\n").map((text, i) => {
        const row = document.createElement("div"), indent = text.search(/\S|$/), code = /^\s*[^\s#]/.test(text);
        row.dataset.line = i + 1;
        row.append(...(text.trim() || " ").split(/(?<=\w\(|,|[[.]|::|->)/).flatMap(part => {
          const end = document.createElement("wbr");
          end.className = /[(,]$/.test(part) ? "" : "tight";
          return [part, end];
        }));
        if (code) shown = Math.min(indent, shown + 8 * (indent > before)), before = indent;
        row.style.setProperty("--in", code ? shown : indent);
        row.classList.toggle("code-line", code);
        return row;
      }));
    }
    panel.querySelector(".now")?.classList.remove("now");
    const row = panel.dataset.file === file && panel.children[line - 1];
    if (!row) return;
    row.classList.add("now");
    const lines = Math.floor(panel.clientHeight / parseFloat(getComputedStyle(panel).lineHeight) / 2);
    this.less = Infinity;
    this.indentLess([...panel.children].slice(Math.max(0, line - 1 - lines), line + lines));
    panel.scrollLeft = 0;
    panel.scrollTop = row.offsetTop - (panel.clientHeight - row.offsetHeight) / 2;
  },

  // Removes the indentation that all lines share.
  indentLess(rows) {
    const indents = rows.flatMap(row => row.matches(".code-line") ? [+row.style.getPropertyValue("--in")] : []);
    this.less = Math.min(this.less, ...indents);
    this.find(".source").style.setProperty("--less", Number.isFinite(this.less) ? this.less : 0);
  },
});
