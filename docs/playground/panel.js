// What the panel shows for each answer: the text of the command. Everything goes in as text, never as markup.

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'onclick') node.addEventListener('click', value);
    else if (value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

export const progress = (part) => [
  element('p', {}, part < 1 ? 'Downloading fieldlock, which then runs in this page.' : 'Starting fieldlock …'),
  element('progress', { max: '1', value: String(part), 'aria-label': 'Loading' }),
];

export const sentence = (text, tone = 'refused') => [element('p', { class: tone }, text)];

const styles = { 1: 'bold', 2: 'quiet', 31: 'refused', 32: 'allowed', 33: 'unsure' };
const place = /\b(old|new|CRD):(\d+)|\bline (\d+)/g;

// styled returns the nodes of a text with the escapes of a terminal. Places in quiet parts are buttons that go there; a line alone
// is one of lineOf.
function styled(text, lineOf, goTo) {
  const nodes = [];
  for (const [at, part] of text.split(/\x1b\[(\d+)m/).entries()) {
    if (at % 2 === 1) nodes.push(styles[part] ?? '');
    else if (part !== '') {
      const style = at > 0 ? nodes.pop() : '';
      const children = style === 'quiet' ? withPlaces(part, lineOf, goTo) : [part];
      nodes.push(style ? element('span', { class: style }, ...children) : part);
    } else if (at > 0) nodes.pop();
  }
  return nodes;
}

function withPlaces(text, lineOf, goTo) {
  const nodes = [];
  let end = 0;
  for (const found of text.matchAll(place)) {
    const [all, editor = lineOf, line = found[3]] = found;
    nodes.push(text.slice(end, found.index), element('button', { type: 'button', class: 'goto', onclick: () => goTo(editor, Number(line)) }, all));
    end = found.index + all.length;
  }
  return [...nodes, text.slice(end)];
}

// answer shows what a verb found. Lines without an editor are those of the new objects for check, and of the CRD for the other verbs.
export function answer(verb, { error, headline, text, document: crd }, goTo) {
  if (error) return sentence(error);
  const nodes = [];
  const lineOf = verb === 'check' ? 'new' : 'CRD';
  if (headline) nodes.push(element('p', { class: 'verdict' }, ...styled(headline, lineOf, goTo)));
  if (text) nodes.push(element('pre', { class: 'report' }, ...styled(text, lineOf, goTo)));
  if (crd) {
    const copy = element('button', { type: 'button', onclick: () => navigator.clipboard.writeText(crd) }, 'Copy');
    nodes.push(element('p', {}, 'The CRD as a stock cluster enforces it. ', copy), element('pre', { tabindex: '0', 'aria-label': 'CRD' }, crd));
  }
  return nodes;
}
