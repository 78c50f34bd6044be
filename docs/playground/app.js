// The page: what is typed goes to the worker a moment later, and its answer into the panel and onto the lines.
import { decode, encode } from './address.js';
import { goTo, mark, newEditor, setText, textOf } from './editors.js';
import { examples } from './examples.js';
import * as panel from './panel.js';

const $ = (id) => document.getElementById(id);
const tabs = ['check', 'lint', 'locks', 'cel'];
const inputs = { CRD: 'schema', old: 'old', new: 'new' }; // the editors, by the names that answers have for them
const choices = ['minor', 'applier'];
const editors = Object.fromEntries(Object.entries(inputs).map(([name, id]) => [name, newEditor(id, changed)]));
let tab = 'check';
let ready = false;
let asked = 0;
let timer;

const worker = new Worker('worker.js');
worker.onmessage = ({ data }) => {
  if (data.progress !== undefined) show(panel.progress(data.progress));
  else if (data.failed) show(panel.sentence(`fieldlock could not be loaded: ${data.failed}`));
  else if (data.ready) begin(data.ready);
  else if (data.id === asked) answered(data.answer);
};

function begin({ minors, appliers }) {
  ready = true;
  $('minor').replaceChildren(...minors.map((minor) => new Option(minor)));
  $('minor').value = minors.at(-1);
  $('applier').append(...appliers.map((applier) => new Option(applier)));
  for (const id of choices) $(id).disabled = false;
  choose(wanted);
  show(panel.sentence('Checking …', 'quiet'));
  run();
}

// choose sets the choices of a state that the page offers.
function choose(state) {
  for (const id of choices) {
    const has = [...$(id).options].some(({ value }) => value === state[id]);
    if (has) $(id).value = state[id];
  }
}

function changed() {
  clearTimeout(timer);
  timer = setTimeout(run, 150);
}

function run() {
  if (!ready) return;
  asked++;
  const input = { crd: textOf(editors.CRD), old: textOf(editors.old), new: textOf(editors.new), minor: $('minor').value, applier: $('applier').value };
  worker.postMessage({ id: asked, verb: tab, input });
}

function answered(answer) {
  for (const name of Object.keys(inputs)) mark(editors[name], answer.marks.filter(({ editor }) => editor === name));
  show(panel.answer(tab, answer, (name, line) => {
    if (name === 'CRD') $('crd').open = true;
    goTo(editors[name], line);
  }));
}

function show(nodes) {
  $('panel').replaceChildren(...nodes);
}

function select(name) {
  tab = name;
  for (const each of tabs) {
    $(`tab-${each}`).setAttribute('aria-selected', String(each === name));
    $(`tab-${each}`).tabIndex = each === name ? 0 : -1;
  }
  $('panel').setAttribute('aria-labelledby', `tab-${name}`);
  run();
}

for (const [at, name] of tabs.entries()) {
  $(`tab-${name}`).addEventListener('click', () => select(name));
  $(`tab-${name}`).addEventListener('keydown', ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    const next = tabs[(at + step + tabs.length) % tabs.length];
    select(next);
    $(`tab-${next}`).focus();
  });
}

function load(state) {
  for (const [name, id] of Object.entries(inputs)) setText(editors[name], state[id] ?? '');
  $('crd').open = Boolean(state.schema);
  choose(state);
  if (tabs.includes(state.tab)) select(state.tab);
}

$('examples').replaceChildren(new Option('Choose …', ''), ...examples.map(({ name }, at) => new Option(name, String(at))));
$('examples').addEventListener('change', ({ target }) => {
  if (target.value !== '') load({ tab: 'check', ...examples[Number(target.value)] });
});
for (const id of choices) $(id).addEventListener('change', run);
$('share').addEventListener('click', async () => {
  const texts = Object.entries(inputs).map(([name, id]) => [id, textOf(editors[name])]);
  const state = { tab, ...Object.fromEntries([...choices.map((id) => [id, $(id).value]), ...texts]) };
  window.history.replaceState(null, '', `#${await encode(state)}`); // which is no hashchange
  const copied = await navigator.clipboard.writeText(window.location.href).then(() => true, () => false);
  $('said').textContent = copied ? 'The address is copied.' : 'The address holds everything: copy it.';
});

// open loads the state in the address: when the page is opened, and when a link is pasted into its tab.
let wanted = {};
async function open() {
  try {
    wanted = await decode(window.location.hash) ?? examples[0];
    $('said').textContent = '';
  } catch {
    wanted = examples[0];
    $('said').textContent = 'The address is damaged; here is an example instead.';
  }
  load(wanted);
}
window.addEventListener('hashchange', open);
show(panel.progress(0));
open();
