// Choosing what is looked at. The address says which episode or exam: #trace=agent/user/trial or
// #exam=agent/user/trial/period/question, each part percent-encoded, so that links, back and forward work.
const control = (id) => document.getElementById(id);
const FILTERS = ["period", "question", "failure", "mistake"];

let seen = null; // the episode that is shown: its place, trace and nodes
let wish = 0;

function parsed(hash) {
  const found = /^#(exam|trace)=(.*)$/.exec(hash);
  if (!found) return null;
  try {
    const [agent, user, trial, period, question] = found[2].split("/").map(decodeURIComponent);
    return { kind: found[1], agent, user, trial: Number(trial), period: Number(period), question: Number(question) };
  } catch {
    return { kind: "none" };
  }
}

function traceLink(place) {
  return `#trace=${[place.agent, place.user, place.trial].map(encodeURIComponent).join("/")}`;
}

// Say what cannot be shown; nothing to say hides it.
function miss(sentence) {
  control("missing").textContent = sentence;
  control("missing").hidden = !sentence;
}

// Show what the address names; without a name, or where it names nothing, the first episode.
async function follow() {
  const wanted = parsed(location.hash);
  if (!wanted && seen) return;
  const user = wanted ? index.users.findIndex((one) => one.id === wanted.user) : 0;
  const episodes = index.users[Math.max(user, 0)].episodes;
  const named = user >= 0 && episodes.find((one) => one.agent === wanted?.agent && one.trial === wanted?.trial);
  const exam = named && wanted.kind === "exam" ? wanted : null;
  if (named || !seen) await show(Math.max(user, 0), named || firstOf(episodes), exam);
  if (wanted && !named) {
    const left = index.left_out.includes(wanted.user);
    miss(left ? "The trace of that user is left out of this file, see above." : "There is no such trace in this file.");
  }
}

// Of the agents as the tables list them, the first.
function firstOf(episodes) {
  const order = index.agents.map((agent) => agent.name);
  return [...episodes].sort((a, b) => order.indexOf(a.agent) - order.indexOf(b.agent) || a.trial - b.trial)[0];
}

async function show(user, played, exam) {
  const turn = ++wish;
  const place = { agent: played.agent, user: index.users[user].id, trial: played.trial };
  let trace;
  try {
    trace = await traceOf(user);
  } catch (error) {
    miss(`The trace cannot be unpacked by this browser: ${error}`);
    return;
  }
  if (turn !== wish) return; // another was asked for meanwhile
  miss("");
  if (!seen || traceLink(seen.place) !== traceLink(place)) build(user, place, trace);
  filter();
  if (exam) reveal(exam);
}

function build(user, place, trace) {
  const episode = trace.episodes.find((one) => one.agent === place.agent && one.trial === place.trial);
  const reference = index.agents.some((agent) => agent.name === place.agent && agent.reference);
  seen = { user, place, trace, episode, reference, exams: [], periods: [] };
  const failed = [];
  const periods = trace.periods.map((_, number) => {
    const nodes = episode.exams.filter((exam) => exam.period === number).map((exam) => {
      const shown = { exam, node: examNode(seen, exam), row: exam.correct ? null : failedRow(seen, exam) };
      if (shown.row) failed.push(shown.row);
      seen.exams.push(shown);
      return shown.node;
    });
    const section = make("section", { class: "period" }, periodHead(seen, number), make("div", { class: "exams" }, nodes));
    seen.periods.push(section);
    return section;
  });
  const remarks = [
    reference && "A reference agent: it takes no part in the conversation.",
    episode.dropped && `${counted(episode.dropped, "message")} fell out of the model's full context.`,
  ].filter(Boolean);
  const notes = remarks.map((remark) => make("p", { class: "quiet" }, remark));
  control("trace").replaceChildren(personaNode(trace), timelineNode(trace), ...notes, failedNode(failed), ...periods);
  setControls();
}

function choose(select, options, value) {
  select.replaceChildren(...options.map(([name, text, disabled]) => make("option", { value: name, disabled }, text)));
  select.value = value;
}

function setControls() {
  const { user, place, trace } = seen;
  const played = index.users[user].episodes;
  const users = index.users.map((one) => [one.id, one.name ? `${short(one.name, 30)} · ${short(one.id, 40)}` : short(one.id, 60)]);
  const left = index.left_out.map((id) => [id, `${short(id, 40)} (left out)`, true]);
  choose(control("user"), [...users, ...left], place.user);
  const agents = index.agents.map((agent) => agent.name).filter((name) => played.some((one) => one.agent === name));
  choose(control("agent"), agents.map((name) => [name, name]), place.agent);
  const trials = played.filter((one) => one.agent === place.agent).map((one) => String(one.trial));
  choose(control("trial"), trials.map((trial) => [trial, trial]), String(place.trial));
  control("trial-label").hidden = trials.length < 2;
  for (const [id, many] of [["period", trace.periods], ["question", trace.questions]]) {
    const kept = Number(control(id).value) < many.length ? control(id).value : "";
    choose(control(id), [["", "any"], ...many.map((_, number) => [String(number), String(number)])], kept);
  }
}

// Hide what the filters leave out.
function filter() {
  const [period, question, failure, mistake] = FILTERS.map((id) => control(id).value);
  const wrong = control("wrong").checked;
  const matches = (exam) =>
    (!period || exam.period === Number(period)) &&
    (!question || exam.question === Number(question)) &&
    (!failure || exam.failure === failure) &&
    (!mistake || exam.mistake === mistake) &&
    (!wrong || (!exam.correct && !exam.error));
  let count = 0;
  for (const { exam, node, row } of seen.exams) {
    node.hidden = !matches(exam);
    if (row) row.hidden = node.hidden;
    count += !node.hidden;
  }
  for (const section of seen.periods) section.hidden = !section.querySelector("details.exam:not([hidden])");
  control("said").textContent = `${count} of ${seen.exams.length} exams are shown.`;
}

function clear() {
  for (const id of FILTERS) control(id).value = "";
  control("wrong").checked = false;
}

// Open the exam and go to it, whatever the filters say.
function reveal(wanted) {
  const found = seen.exams.find(({ exam }) => exam.period === wanted.period && exam.question === wanted.question);
  if (!found) {
    miss("There is no such exam in this trace.");
    return;
  }
  if (found.node.hidden) {
    clear();
    filter();
  }
  for (const { node } of seen.exams) node.classList.toggle("target", node === found.node);
  unfold(found.node);
  found.node.scrollIntoView({ block: "start" });
  found.node.querySelector("summary").focus({ preventScroll: true });
}

function episodeChosen(event) {
  const user = index.users.find((one) => one.id === control("user").value);
  const same = (one) => one.agent === control("agent").value;
  const trial = (one) => one.trial === Number(control("trial").value);
  const played = user.episodes.find((one) => same(one) && trial(one)) || user.episodes.find(same) || firstOf(user.episodes);
  location.hash = traceLink({ ...played, user: user.id });
  event.stopPropagation();
}

if (index.users.length) {
  for (const id of ["user", "agent", "trial"]) control(id).addEventListener("change", episodeChosen);
  control("controls").addEventListener("change", filter);
  control("controls").addEventListener("submit", (event) => event.preventDefault());
  control("clear").addEventListener("click", () => { clear(); filter(); });
  addEventListener("hashchange", follow);
  // a link to where one already is changes no address
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a");
    if (link && link.hash === location.hash && parsed(link.hash)) follow();
  });
  follow();
}
