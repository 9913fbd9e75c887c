// What surrounds the exams: the persona, the states over time, each period's conversation and memory, the failures.

function personaNode(trace) {
  return fold("persona of the user", () => whole(textAt(trace, trace.persona)));
}

// Variables down, periods across; a value stands where it begins.
function timelineNode(trace) {
  return fold(`states over time: ${counted(trace.variables.length, "variable")}`, () => {
    const head = ["state", ...trace.periods.map((_, period) => String(period))];
    const rows = trace.variables.map((name, column) => {
      const cells = trace.periods.map((period, number) => {
        const begins = period.since[column] === number;
        const changed = begins && number > 0;
        return make("td", { class: changed ? "changed" : null, title: period.state[column] },
          begins ? [changed && "▸ ", inline(period.state[column])] : make("span", { class: "quiet" }, "·"));
      });
      return make("tr", {}, make("th", { scope: "row", title: name }, inline(name)), cells);
    });
    return table("States of the user over time", head, rows, { class: "timeline" });
  });
}

// A row for each exam that is not right, with a link to its trace.
function failedRow(seen, exam) {
  const { trace } = seen;
  const question = textAt(trace, trace.questions[exam.question].text);
  return make(
    "tr",
    {},
    make("td", { class: "number" }, String(exam.period)),
    make("td", { class: "number" }, String(exam.question)),
    make("td", {}, make("a", { href: examLink(seen.place, exam) }, inline(short(question, 60)))),
    make("td", {}, inline(exam.option ? short(valuesAt(trace, exam, exam.option), 60) : "–")),
    make("td", {}, inline(short(valuesAt(trace, exam, exam.gold), 60))),
    make("td", {}, exam.error ? "error" : exam.failure && tag(exam.failure)),
    make("td", {}, exam.mistake && tag(exam.mistake)),
  );
}

function failedNode(rows) {
  const head = ["period", "question", "asked", "chosen", "right", "failure", "error"];
  const list = table("Failed exams", head, rows, { id: "failed" });
  return make("details", { open: true, class: "failed" }, make("summary", {}, "failed exams"), list);
}

function periodHead(seen, number) {
  const { trace, episode } = seen;
  const talk = episode.talk[number];
  const messages = talk ? talk.reduce((sum, session) => sum + session.length, 0) : 0;
  return [
    make("h3", {}, `Period ${number} `, make("small", { class: "quiet" }, `until ${trace.periods[number].end}`)),
    talk && fold(`conversation: ${counted(talk.length, "session")}, ${counted(messages, "message")}`, () => talk.map(sessionNode.bind(null, trace))),
    !seen.reference && memoryNode(trace, episode, number),
  ];
}

function sessionNode(trace, session) {
  const turns = session.map(([role, place, time]) =>
    make(
      "div",
      { class: `turn ${role === "user" ? "user" : "agent"}` },
      make("div", { class: "quiet" }, role, time ? ` · ${time}` : ""),
      whole(textAt(trace, place)),
    ),
  );
  return make("div", { class: "session" }, turns);
}

function memoryNode(trace, episode, number) {
  const items = episode.holdings[number];
  if (!items) return make("p", { class: "quiet" }, "memory: it cannot tell what it holds");
  if (!items.length) return make("p", { class: "quiet" }, "memory: held nothing");
  return fold(`memory: held ${counted(items.length, "item")}`, () => itemList(trace, items));
}
