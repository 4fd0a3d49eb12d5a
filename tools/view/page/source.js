// The panel of the source.

const OF_MATRIX = "OF_MATRIX";  // { a: names of what belongs to A, b, c }
const TOKENS = {  // what stands out in a line of C++; names of A, B and C have the colours that pictures give to them
  remark: /^\/\/.*/, word: /^"[^"]*"/, directive: /^#\s*\w+/,
  ...Object.fromEntries(Object.entries(OF_MATRIX).map(([matrix, names]) => ["of-" + matrix, new RegExp(`^(${names.join("|")})\\b`)])),
  keyword: new RegExp("^(asm|auto|bool|break|case|class|const|constexpr|continue|do|else|extern|float|for|half|if|int|inline|" +
    "long|namespace|return|short|sizeof|size_t|static|struct|switch|template|typename|uint32_t|uint64_t|unsigned|using|void|" +
    "volatile|while|__\\w+__)\\b"),
  "": /^(\w+|.)/,
};
// [[kind or "", text]] of a line of the source; what has no kind is joined.
function tokensOf(text) {
  const found = [];
  for (let at = 0; at < text.length;) {
    const kind = Object.keys(TOKENS).find(each => TOKENS[each].test(text.slice(at))), [token] = text.slice(at).match(TOKENS[kind]);
    if (!kind && found.at(-1)?.[0] === "") found.at(-1)[1] += token;
    else found.push([kind, token]);
    at += token.length;
  }
  return found;
}

addMethods(View, {
  drawSource() {
    const panel = this.find(".source"), { file, line } = this.event;
    if (panel.dataset.file !== file && this.data.sources[file] !== undefined) {
      panel.dataset.file = file;
      let before = 0, shown = 0;  // a line that is aligned below a parenthesis is indented 8 columns more than the line above
      panel.replaceChildren(...this.data.sources[file].split("\n").map((text, i) => {
        const row = document.createElement("div"), indent = text.search(/\S|$/), code = /^\s*[^\s#]/.test(text);
        row.dataset.line = i + 1;
        row.append(...tokensOf(text.trim() || " ").flatMap(([kind, token]) => {
          const parts = token.split(/(?<=\w\(|,|[[.]|::|->)/).flatMap(part => {
            const end = document.createElement("wbr");
            end.className = /[(,]$/.test(part) ? "" : "tight";
            return [part, end];
          });
          if (!kind) return parts;
          const span = document.createElement("span");
          span.className = kind;
          span.append(...parts);
          return [span];
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
