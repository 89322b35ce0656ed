/* Giving the service files: dropped, or chosen, one by one or as whole folders. */

import {failure, h} from "../lib/dom.js";
import {many} from "../lib/format.js";

const BATCH_FILES = 100; // in one request
const BATCH_BYTES = 64 * 2 ** 20;

/** A place to drop files on. `send` is given each batch of them, [{name, file}, …], and a function that it tells its share sent. */
export function dropZone(send) {
  const trouble = h("div", {});
  const state = h("p", {class: "note", role: "status"});
  const bar = h("progress", {max: 1, value: 0, hidden: true, "aria-label": "Uploaded"});
  const upload = async (found) => {
    trouble.replaceChildren();
    bar.hidden = false;
    try {
      const files = (await found).filter(({name}) => !isHidden(name));
      if (!files.length) state.textContent = "There is no file to upload in it.";
      await sendAll(files, send, (sent) => {
        bar.value = sent / files.length;
        state.textContent = `Uploaded ${Math.floor(sent).toLocaleString("en")} of ${many(files.length, "file")}`;
      });
    } catch (error) {
      trouble.replaceChildren(failure(error));
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
  h("p", {}, "Drop files or folders here, or ", chooser("Choose files", {"aria-label": "Files"}), " ", chooser("Choose a folder", {webkitdirectory: true, "aria-label": "Folder"})),
  bar, state);
  return h("section", {"aria-label": "Upload"}, zone, trouble);
}

async function sendAll(files, send, told) {
  let sent = 0;
  while (sent < files.length) {
    let to = sent;
    let bytes = 0;
    while (to < files.length && to - sent < BATCH_FILES && (to === sent || bytes + files[to].file.size <= BATCH_BYTES)) {
      bytes += files[to].file.size;
      to += 1;
    }
    const [before, batch] = [sent, files.slice(sent, to)];
    await send(batch, (share) => told(before + share * batch.length));
    sent = to;
    told(sent);
  }
}

/** All files of a drop, those in folders by their path. The entries have to be taken at once: they go with the event. */
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
  for (;;) { // a reader gives a folder in parts
    const part = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });
    if (!part.length) return found;
    for (const each of part) found.push(...await filesOf(each));
  }
}

function isHidden(path) {
  return path.split("/").some((part) => part.startsWith("."));
}
