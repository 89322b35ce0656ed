/* A box for questions on other sites. docs/service.md has its attributes.
   Words of models and documents are set as text only. */
(() => {
  const script = /** @type {HTMLScriptElement} */ (document.currentScript), given = script.dataset;
  const TEXTS = {
    title: "Ask a question", placeholder: "Your question", send: "Ask", close: "Close", retry: "Try again", page: "page",
    searching: "Searching the documents …", reading: "Reading …", writing: "Writing …",
    answered: "Answered", partial: "Answered in part", insufficient: "Not answered by the documents",
    needsClarification: "What do you mean?", nearest: "Closest:", missing: "Left open:",
    notAllowed: "This page may not ask here.",
    tooMany: "Too many questions. Please try later.", failed: "No answer is possible now. Please try later.",
    offline: "There is no connection, or this page may not ask here.",
  };
  const STAGES = {searched: "reading", claim_drafted: "writing"};
  const CSS = `
:host{all:initial;direction:inherit;color-scheme:light dark;font:16px/1.5 system-ui,sans-serif;color:CanvasText;--accent:light-dark(#1b5e8c,#86bfe6)}
.open,section{position:fixed;z-index:9999;inset-block-end:1rem;inset-inline-end:1rem;box-shadow:0 3px 20px #0005}
section:not([hidden]){display:flex}
section{flex-direction:column;width:25rem;height:min(36rem,100dvh - 2rem);background:Canvas;border-radius:12px;outline:1px solid #8886}
@media (max-width:480px){section{inset:0;width:auto;height:auto;border-radius:0}}
header,form{display:flex;gap:.5rem;align-items:center;padding:.6rem .9rem}
h2,input{flex:1;min-width:0;margin:0;font-size:1rem}
div{flex:1;overflow:auto;overflow-wrap:anywhere;border-block:1px solid #8886;padding:0 .9rem}
p,b,ul,ol,blockquote{display:block;margin:.5rem 0;padding:0} ol,ul{padding-inline-start:1.4rem}
p,b,li,blockquote,input,button{unicode-bidi:plaintext;text-align:start}
article+article{border-top:1px solid #8886}
i,.soft,.quotes{font-size:.9rem;opacity:.8} .quotes{list-style:none;padding:0}
blockquote{border-inline-start:3px solid #8888;padding-inline-start:.6rem;white-space:pre-line}
input,button{font:inherit;color:inherit;background:none;border:1px solid #8888;border-radius:8px;padding:.4rem .7rem}
button{cursor:pointer} :disabled{opacity:.5} .choice{display:block;margin:.4rem 0}
.main{background:var(--accent);color:Canvas;font-weight:600} .open{border-radius:99px}
.mark{border:0;padding:0 .1rem;color:var(--accent)} :focus-visible{outline:2px solid var(--accent);outline-offset:2px}`;
  const text = (name) => given[name] ?? TEXTS[name];
  const camel = (words) => words.replace(/[ _]./g, (found) => found[1].toUpperCase());

  /** An element with its children, except empty and false ones. */
  const el = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children.flat().filter(Boolean));
    return element;
  };
  const button = (className, label, onclick) => el("button", {className, onclick}, label);

  function build(root) {
    const log = el("div", {role: "log", ariaLive: "polite", tabIndex: 0});
    const input = el("input", {placeholder: text("placeholder"), ariaLabel: text("placeholder"), maxLength: 2000, autocomplete: "off"});
    const send = el("button", {className: "main"}, text("send"));
    const opener = button("open main", text("title"), () => show(true));
    const close = Object.assign(button("", "✕", () => show(false)), {ariaLabel: text("close")});
    const form = el("form", {onsubmit: () => ask(input.value.trim()) && false}, input, send);
    const panel = el("section", {role: "dialog", ariaLabel: text("title"), hidden: true, onkeydown: ({key}) => { if (key === "Escape") show(false); }},
      el("header", {}, el("h2", {}, text("title")), close), log, form);
    root.append(opener, panel);

    function show(open) {
      panel.hidden = !open;
      opener.hidden = open;
      (open ? input : opener).focus();
    }

    /** Ask, unless a question is open. The same `id` gets the same run. */
    async function ask(question, id = crypto.getRandomValues(new Uint32Array(4)).join(), entry = el("article")) {
      if (!question || send.disabled) return;
      const progress = el("p", {className: "soft"}, text("searching"));
      entry.replaceChildren(el("b", {}, question), progress);
      log.append(entry);
      entry.scrollIntoView();
      input.value = "";
      input.focus();
      send.disabled = true;
      try {
        progress.replaceWith(...view(await received(question, id, progress), ask));
      } catch ({message}) {
        progress.replaceWith(el("p", {}, text(message) ?? text("offline")), button("", text("retry"), () => ask(question, id, entry)));
      }
      send.disabled = false;
      entry.scrollIntoView();
    }
  }

  function view({status, basis, statements, layout, short, nearest, missing, clarification, citations}, ask) {
    if (!text(camel(status))) return [el("p", {}, text("failed"))]; // failed or cancelled
    const quotes = new Map(citations.map((each) => [each.mark, quoted(each)]));
    const [list, item] = {prose: ["p", "span"], list: ["ul", "li"], numbered_list: ["ol", "li"]}[layout];
    const said = statements.map((each) => el(item, {}, each.text, " ",
      each.marks.map((mark) => button("mark", `[${mark}]`, () => quotes.get(mark)?.focus())),
      each.remark && el("i", {}, ` (${given[camel(each.remark)] ?? each.remark})`), " "));
    return [
      el("p", {className: "soft"}, [text(camel(status)), given.basis ?? basis].filter(Boolean).join(" · ")),
      ...clarification ? [el("p", {}, clarification.question), ...clarification.candidates.map((each) => button("choice", each.name, () => ask(each.question)))] : [
        nearest ? el("p", {}, text("nearest"), " ", nearest) : !said[0] && short && el("p", {}, short),
        said[0] && el(list, {}, said),
        missing[0] && el("p", {}, text("missing"), el("ul", {}, missing.map((each) => el("li", {}, each)))),
        el("ul", {className: "quotes"}, ...quotes.values())]].filter(Boolean);
  }

  function quoted({mark, document: name, pages, section, quote, verbatim}) {
    const place = pages[0] ? `${text("page")} ${[...new Set([pages[0], pages.at(-1)])].join("–")}` : section.join(" › ");
    return el("li", {tabIndex: -1}, el("blockquote", {}, verbatim ? `“${quote}”` : quote), `[${mark}] `, [name, place].filter(Boolean).join(", "));
  }

  /** Ask, show the progress, and return the answer. Throws an Error with the name of a text. */
  async function received(question, id, progress) {
    const headers = {Authorization: `Bearer ${given.key}`, "Content-Type": "application/json", "Idempotency-Key": id};
    const body = JSON.stringify({question, stream: true, collection: given.collection});
    const response = await fetch(new URL("v1/research", script.src), {method: "POST", credentials: "omit", headers, body});
    if (!response.ok) throw Error({401: "notAllowed", 403: "notAllowed", 429: "tooMany"}[response.status] ?? "failed");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = "", part; !(part = await reader.read()).done;) {
      const events = (rest + part.value).split("\n\n");
      rest = events.pop();
      for (const event of events) {
        const value = JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? "{}");
        if (value.status) return value;
        if (STAGES[value.type]) progress.textContent = text(STAGES[value.type]);
      }
    }
    throw Error("offline");
  }

  customElements.define("candor-box", class extends HTMLElement {
    connectedCallback() {
      const root = this.attachShadow({mode: "open"}), styles = new CSSStyleSheet(); // which any policy of the page allows
      styles.replaceSync(CSS);
      root.adoptedStyleSheets = [styles];
      this.style.colorScheme = given.theme ?? "";
      build(root);
    }
  });
  document.body.append(document.createElement("candor-box"));
})();
