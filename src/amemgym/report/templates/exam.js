// One exam: the question, the options in the order shown, what was chosen, and why it is wrong.
const FAILED = {
  write: "write: a state was not known even after the period in which it was new",
  read: "read: it was known when it was new, and is not now",
  utilization: "utilization: all states are known, and the answer is wrong",
  unparsed: "unparsed: the reply names no option",
  undiagnosed: "undiagnosed: the probes that would tell are missing",
};
const MISTAKEN = {
  stale: "stale: the chosen option was right earlier",
  future: "future: the chosen option is right only later",
  never: "never: the chosen option is right at no time",
};
// characters of a question that stand in its exam's head
const SUMMARY = 110;

function examLink(place, exam) {
  const parts = [place.agent, place.user, place.trial, exam.period, exam.question];
  return `#exam=${parts.map(encodeURIComponent).join("/")}`;
}

function outcome(exam) {
  if (exam.error) return ["!", "error"];
  if (exam.correct) return ["✓", "right"];
  return exam.option ? ["✗", "wrong"] : ["?", "unparsed"];
}

// The option shown at a place (from 1), or nothing.
function optionAt(trace, exam, place) {
  return place ? trace.questions[exam.question].options[exam.order[place - 1]] : null;
}

function valuesAt(trace, exam, place) {
  const option = optionAt(trace, exam, place);
  return option ? option.values.join(", ") : "–";
}

function examNode(seen, exam) {
  const question = textAt(seen.trace, seen.trace.questions[exam.question].text);
  const [symbol, word] = outcome(exam);
  const summary = [
    make("span", { class: `outcome ${word}` }, `${symbol} ${word}`),
    make("span", { class: "number" }, `q${exam.question}`),
    make("span", { class: "asked" }, inline(short(question, SUMMARY))),
    exam.failure && exam.failure !== word && tag(exam.failure),
    exam.mistake && tag(exam.mistake),
  ];
  return fold(summary, () => examBody(seen, exam, question), { class: "exam" });
}

function examBody(seen, exam, question) {
  const { trace } = seen;
  return make(
    "div",
    { class: "body" },
    short(question, SUMMARY) !== question && whole(question),
    make("ol", { class: "options" }, exam.order.map((_, place) => optionNode(trace, exam, place + 1))),
    make("ul", { class: "facts" }, examFacts(exam).map((fact) => make("li", {}, fact))),
    requiredTable(trace, seen.episode, exam),
    exam.probe?.error && make("p", { class: "quiet" }, `The probe ended in an error: ${short(exam.probe.error, 300)}`),
    exam.probe?.reply !== undefined && fold("the probe's reply", () => whole(textAt(trace, exam.probe.reply))),
    !seen.reference && fold("reply as it was given", () => whole(textAt(trace, exam.reply) || "(empty)")),
    exam.items?.length > 0 &&
      fold(`read from memory: ${counted(exam.items.length, "item")}`, () => itemList(trace, exam.items)),
    make("p", {}, make("a", { href: examLink(seen.place, exam), class: "own-link" }, "link to this exam")),
  );
}

function optionNode(trace, exam, place) {
  const option = optionAt(trace, exam, place);
  const required = trace.questions[exam.question].required;
  const isGold = place === exam.gold;
  const isChosen = place === exam.option;
  const marks = [
    isGold && make("span", { class: "is gold" }, "✓ right"),
    isChosen && make("span", { class: isGold ? "is gold" : "is wrong" }, isGold ? "● chosen" : "✗ chosen"),
  ];
  return make(
    "li",
    { class: [isGold && "gold", isChosen && "chosen"].filter(Boolean).join(" ") || null },
    marks,
    whole(textAt(trace, option.text)),
    make("div", { class: "quiet" }, inline(required.map((name, i) => `${name} = ${option.values[i]}`).join("; "))),
  );
}

function examFacts(exam) {
  return [
    `status of the reply: ${exam.status}${exam.guessed ? ", replaced by a seeded guess (protocol v1)" : ""}`,
    exam.error && `ended in an error, and counts in no score: ${short(exam.error, 300)}`,
    exam.failure && FAILED[exam.failure],
    exam.mistake && MISTAKEN[exam.mistake],
    exam.dropped && `${exam.dropped} of the oldest messages did not fit the model's context`,
  ].filter(Boolean);
}

// What the answer needs: the true values, and what probes said of them now and when they were new.
function requiredTable(trace, episode, exam) {
  const period = trace.periods[exam.period];
  const names = [...new Set(trace.questions[exam.question].required)];
  const rows = names.map((name) => {
    const column = trace.variables.indexOf(name);
    const truth = period.state[column];
    const since = period.since[column];
    const then = episode.exams.find((other) => other.period === since && other.question === exam.question);
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, inline(name)),
      make("td", {}, inline(truth)),
      make("td", {}, since === exam.period ? `${since} (new)` : String(since)),
      make("td", {}, said(exam.probe, name, truth)),
      make("td", {}, since === exam.period ? "as now" : said(then?.probe, name, truth)),
    );
  });
  const head = ["state behind the answer", "true value", "since period", "probe now", "probe when it was new"];
  return table("States behind the answer", head, rows);
}

function said(probe, name, truth) {
  if (!probe || probe.error) return "not probed";
  const value = probe.values[name];
  if (value === null || value === undefined) return "✗ no value";
  return value === truth ? "✓ known" : ["✗ ", inline(value)];
}

function itemList(trace, items) {
  return make("ol", { class: "items" }, items.map((item) => make("li", {}, whole(textAt(trace, item)))));
}
