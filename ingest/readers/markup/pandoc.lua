-- Keeps what pandoc's HTML leaves out: citations, parts in other markup, captions in attributes, check boxes.
-- Writes notes as Candor does: [1] where they stand, and [1] before their text at the end.

local function set(names)
  local found = {}
  for name in names:gmatch("%S+") do
    found[name] = true
  end
  return found
end

local NOT_TEXT = set "contents currentmodule index meta rst-class tabularcolumns"
local NAMED = set "deprecated seealso todo versionadded versionchanged versionremoved"  -- their name is their meaning
local CHECK_BOXES = {["☐"] = "[ ]", ["☒"] = "[x]"}
local notes = pandoc.List()

local function words(inlines)
  return pandoc.utils.stringify(inlines)
end

function Cite(cite)
  local cited = cite.citations:map(function(each)
    local before, after = words(each.prefix), words(each.suffix):gsub("^[,%s]+", "")
    return (before == "" and "" or before .. " ") .. each.id .. (after == "" and "" or ", " .. after)
  end)
  return pandoc.Str("[" .. table.concat(cited, "; ") .. "]")
end

function Link(link)  -- pandoc numbers what it sees of a book, which may be one chapter
  local label = link.attributes.reference
  return label and pandoc.Str("[" .. label .. "]")
end

function Note(note)
  notes:insert(note.content)
  return pandoc.Str("[" .. #notes .. "]")
end

function Code(code)  -- a role of reStructuredText; of "text <target>" the page shows the text
  if code.classes:includes("interpreted-text") then
    return pandoc.Str((code.text:gsub("%s*<[^<>]*>$", "")))
  end
end

function CodeBlock(code)
  local caption = code.attributes.caption
  return caption and {pandoc.Para(caption), pandoc.CodeBlock(code.text)}
end

function DefinitionList(list)  -- a short description stands beside its term
  for _, item in ipairs(list.content) do
    for _, blocks in ipairs(item[2]) do
      if #blocks == 1 and blocks[1].t == "Para" then
        blocks[1] = pandoc.Plain(blocks[1].content)
      end
    end
  end
  return list
end

function Div(div)
  local name, first = div.classes[1], div.content[1]
  if NAMED[name] and first and first.t == "Para" then
    first.content:insert(1, pandoc.Str(name .. ": "))
    return div
  end
  return NOT_TEXT[name] and {} or nil
end

function Header(header)  -- properties of a heading in Org
  local properties = pandoc.List()
  for name, value in pairs(header.attributes) do
    properties:insert(name .. ": " .. value)
  end
  table.sort(properties)
  return #properties > 0 and {header, pandoc.Para(table.concat(properties, ", "))} or nil
end

function Str(str)
  return CHECK_BOXES[str.text] and pandoc.Str(CHECK_BOXES[str.text])
end

function RawInline(raw)
  return raw.format ~= "html" and pandoc.Str(raw.text) or nil
end

function RawBlock(raw)
  return raw.format ~= "html" and pandoc.CodeBlock(raw.text) or nil
end

function Figure(figure)  -- else the page hides a caption that is also the description
  return figure:walk {Image = function(image)
    return words(image.caption) == words(figure.caption.long) and {} or nil
  end}
end

function Image(image)  -- "image" stands where the author gives no description
  return words(image.caption) == "image" and {} or nil
end

local function front_of(meta)  -- what stands above the text; pandoc writes it only if there is a title
  local front = pandoc.List()
  if meta.title then
    front:insert(pandoc.Header(1, meta.title))
  end
  for _, key in ipairs {"subtitle", "author", "date", "abstract"} do
    local value = meta[key]
    for _, each in ipairs(pandoc.utils.type(value) == "List" and value or {value}) do
      front:extend(pandoc.utils.type(each) == "Blocks" and each or {pandoc.Para(each)})
    end
  end
  return pandoc.Div(front, {id = "title-block"})
end

function Pandoc(doc)
  for number, blocks in ipairs(notes) do
    if blocks[1] and (blocks[1].t == "Para" or blocks[1].t == "Plain") then
      blocks[1].content:insert(1, pandoc.Str("[" .. number .. "] "))
    else
      blocks:insert(1, pandoc.Para("[" .. number .. "]"))
    end
    doc.blocks:extend(blocks)
  end
  doc.blocks:insert(1, front_of(doc.meta))
  doc.meta.pagetitle, doc.meta.title = doc.meta.title or doc.meta.pagetitle, nil
  return doc
end
