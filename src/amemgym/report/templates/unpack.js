// The traces in this file: one packed piece a user, unpacked when it is first looked at.
const index = JSON.parse(document.getElementById("index")?.textContent || '{"users": [], "agents": [], "left_out": []}');
const packed = document.querySelectorAll("script.packed");
const unpacked = new Map();

async function traceOf(place) {
  if (!unpacked.has(place)) {
    const bytes = Uint8Array.from(atob(packed[place].textContent.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    unpacked.set(place, JSON.parse(await new Response(stream).text()));
  }
  return unpacked.get(place);
}

// A text by its place; an entry is a text, or what stands before one and that one's place.
function textAt(trace, place) {
  const entry = trace.texts[place];
  return typeof entry === "string" ? entry : entry[0] + trace.texts[entry[1]];
}
