/* Upload of files and folders, by drag and drop or file dialog. */

import {failure, h} from "../lib/dom.js";
import {n, number, phrase, t} from "../lib/i18n.js";

const BATCH_FILES = 100; // per request
const BATCH_BYTES = 64 * 2 ** 20;

/** A drop zone for files. `send` gets each batch, [{name, file}, …], and a callback for the share sent. */
export function dropZone(send) {
  const errorBox = h("div", {});
  const state = h("p", {class: "note", role: "status"});
  const bar = h("progress", {max: 1, value: 0, hidden: true, "aria-label": t("Uploaded")});
  const upload = async (found) => {
    errorBox.replaceChildren();
    bar.hidden = false;
    try {
      const files = (await found).filter(({name}) => !isHidden(name));
      if (!files.length) state.textContent = t("No files to upload.");
      await sendAll(files, send, (sent) => {
        bar.value = sent / files.length;
        state.textContent = n(files.length, "Uploaded {part} of {count} file", "Uploaded {part} of {count} files", {part: number(Math.floor(sent))});
      });
    } catch (error) {
      errorBox.replaceChildren(failure(error));
    } finally {
      bar.hidden = true;
    }
  };
  const chooser = (label, props) => {
    const input = h("input", {type: "file", multiple: true, hidden: true, ...props, on: {change: () => {
      upload([...input.files].map((file) => ({name: file.webkitRelativePath || file.name, file})));
      input.value = "";
    }}});
    return [input, h("button", {type: "button", on: {click: () => input.click()}}, label)];
  };
  const zone = h("div", {class: "drop", on: {
    dragover: (event) => { event.preventDefault(); zone.classList.add("over"); },
    dragleave: () => zone.classList.remove("over"),
    drop: (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      upload(dropped(event.dataTransfer));
    },
  }},
  h("p", {}, phrase("Drop files or folders here, or {choose}", {choose: [chooser(t("Choose files"), {"aria-label": t("Files")}), " ", chooser(t("Choose a folder"), {webkitdirectory: true, "aria-label": t("Folder")})]})),
  bar, state);
  return h("section", {"aria-label": t("Upload")}, zone, errorBox);
}

async function sendAll(files, send, onProgress) {
  let sent = 0;
  while (sent < files.length) {
    let to = sent;
    let bytes = 0;
    while (to < files.length && to - sent < BATCH_FILES && (to === sent || bytes + files[to].file.size <= BATCH_BYTES)) {
      bytes += files[to].file.size;
      to += 1;
    }
    const [before, batch] = [sent, files.slice(sent, to)];
    await send(batch, (share) => onProgress(before + share * batch.length));
    sent = to;
    onProgress(sent);
  }
}

/** Return all dropped files, those in folders with their path. Reads the entries at once: they expire with the event. */
async function dropped(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const entries = items.map((item) => item.webkitGetAsEntry() ?? item.getAsFile());
  return (await Promise.all(entries.map((entry) => (entry instanceof File ? [{name: entry.name, file: entry}] : filesOf(entry))))).flat();
}

async function filesOf(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => { entry.file(resolve, reject); });
    return [{name: entry.fullPath.replace(/^\//, ""), file}];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) { // a reader returns a folder in parts
    const part = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });
    if (!part.length) return found;
    for (const each of part) found.push(...await filesOf(each));
  }
}

function isHidden(path) {
  return path.split("/").some((part) => part.startsWith("."));
}
