// What the panel shows for each answer. Everything goes in as text, never as markup.

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'onclick') node.addEventListener('click', value);
    else if (value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== undefined && child !== ''));
  return node;
}

const show = (value) => (value === undefined ? 'absent' : JSON.stringify(value));
const count = (n, noun) => `${n} ${noun}${n === 1 ? '' : 's'}`;

export const progress = (part) => [
  element('p', {}, part < 1 ? 'Downloading fieldlock, which then runs in this page and works offline.' : 'Starting fieldlock …'),
  element('progress', { max: '1', value: String(part), 'aria-label': 'Loading' }),
];

export const sentence = (text, tone = 'refused') => [element('p', { class: tone }, text)];

const titleOf = ({ kind, object }) => `${kind ?? ''} ${object ?? ''}`.trim();

function changes(violation) {
  if (violation.redacted) return element('p', { class: 'quiet' }, 'values hidden');
  const list = violation.differences?.length ? violation.differences : [violation];
  return element('ul', {}, ...list.slice(0, 8).map((d) =>
    element('li', {}, ...(d === violation ? [] : [element('code', {}, d.path), ' ']), element('code', {}, `${show(d.old)} → ${show(d.new)}`))));
}

function refusal(violation, goTo) {
  const { path, lock, rule, message, line } = violation;
  return element('div', { class: 'card is-refused' },
    element('h3', {}, `${titleOf(violation)} `, line ? element('button', { type: 'button', class: 'goto', onclick: () => goTo(line) }, `line ${line}`) : ''),
    element('p', {}, element('code', {}, path || '(the object)'), ` ${lock}`),
    element('p', { class: 'refused' }, message),
    rule ? element('p', { class: 'quiet' }, 'rule: ', element('code', {}, rule)) : '',
    rule && violation.old === undefined && violation.new === undefined ? '' : changes(violation));
}

const unsure = (entry) => element('div', { class: 'card is-unsure' },
  element('h3', {}, titleOf(entry)), element('p', {}, entry.path ? element('code', {}, entry.path) : '', `${entry.path ? ': ' : ''}${entry.message}`));

function replacement(entry) {
  const steps = (entry.how ?? []).map((step) => {
    const [command, comment] = step.split('   # ');
    const way = !command.startsWith('kubectl delete ') ? '' : command.includes('--cascade=orphan') ? 'replace it and keep its pods running' : 'replace it';
    const intro = way && comment ? `${way} (${comment})` : way || comment;
    return element('li', {}, intro ? `${intro}: ` : '', element(/^kubectl /.test(command) ? 'code' : 'span', {}, command));
  });
  return element('div', { class: 'card' },
    element('h3', {}, `To apply this change, replace ${titleOf(entry)}`),
    element('ul', {}, ...steps),
    element('p', { class: 'quiet' }, `Cost: ${entry.cost}`, entry.message ? `; ${entry.message}.` : '.'));
}

// verdict shows the report of check.
export function verdict(report, goTo) {
  const { violations, unknown, notes, replacements, warnings, errors = [], checked } = report;
  const first = violations.length
    ? element('p', { class: 'verdict refused' }, `✗ Refused: ${count(violations.length, 'violation')}`)
    : checked === 0
      ? element('p', { class: 'verdict quiet' }, 'Nothing to compare yet: no kind here is known. Paste a CRD, or use one of Kubernetes’ own kinds.')
      : unknown.length
        ? element('p', { class: 'verdict unsure' }, '? Only the cluster can tell')
        : element('p', { class: 'verdict allowed' }, `✓ Allowed: ${count(checked, 'object')} checked`);
  return [
    ...errors.map((e) => element('p', { class: 'refused' }, `${e.file ?? ''}${e.line ? `:${e.line}` : ''} ${e.message}`.trim())),
    errors.length && !violations.length ? '' : first,
    ...violations.map((v) => refusal(v, goTo)),
    ...replacements.map(replacement),
    ...unknown.map(unsure),
    ...notes.map((n) => element('p', { class: 'quiet' }, `${titleOf(n)} ${n.path ?? ''}: ${n.message}`)),
    ...warnings.map((w) => element('p', { class: 'quiet' }, w)),
  ];
}

// lint shows findings with their witnesses.
export function lint({ findings }) {
  if (findings.length === 0) return sentence('✓ No mistakes, no way around a lock.', 'allowed');
  return findings.map((f) => element('div', { class: `card ${f.severity === 'error' ? 'is-refused' : 'is-unsure'}` },
    element('h3', {}, `${f.severity}: ${f.rule}`),
    element('p', {}, f.path ? element('code', {}, f.path) : '', `${f.path ? ': ' : ''}${f.message}`),
    f.fix ? element('details', {}, element('summary', {}, 'Fix'), element('pre', {}, f.fix)) : '',
    f.witness ? element('details', {}, element('summary', {}, 'Witness: objects to write one after the other'),
      element('pre', {}, f.witness.objects.map((o) => JSON.stringify(o, null, 2)).join('\n---\n'))) : ''));
}

// locks shows the locked fields.
export function locks({ fields: rows }) {
  if (rows.length === 0) return sentence('No field is locked.', 'quiet');
  return [element('table', {},
    element('thead', {}, element('tr', {}, ...['Field', 'Lock', 'Way around'].map((h) => element('th', { scope: 'col' }, h)))),
    element('tbody', {}, ...rows.map((r) => element('tr', {},
      element('td', {}, `${r.kind} `, element('code', {}, r.path)), element('td', {}, (r.locks ?? []).join(', ')), element('td', {}, (r.holes ?? []).map((h) => h.message).join('; '))))))];
}

// cel shows the CRD with its locks as CEL rules.
export function cel({ text }) {
  const copy = element('button', { type: 'button', onclick: () => navigator.clipboard.writeText(text) }, 'Copy');
  return [element('p', {}, 'The CRD as a stock cluster enforces it. ', copy), element('pre', {}, text)];
}
