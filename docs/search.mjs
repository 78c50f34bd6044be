// How the site's search ranks pages. The functions are also part of the built pages, so they use nothing from outside.

export const searchOptions = {
  fuzzy: 0.2,
  prefix: (term) => term.length > 4, // spec begins too many words
  boost: { title: 4, text: 2, titles: 1 },
  // A page that answers counts more than one that lists, and a kind of Kubernetes more than one of an operator.
  boostDocument(id) {
    if (/\/(commands|reports|fields|operators|known-crds|findings)\.html/.test(id)) return 0.3;
    if (/\/fields\/[^/.]+\.[^/]+\.html/.test(id)) return 0.4; // a kind with its group
    return /\/(troubleshooting|fields\/[^/]+)\.html/.test(id) ? 1.3 : 1;
  },
};

export const indexOptions = {
  // Small words do not count, and neither does the s of a plural.
  processTerm(term) {
    const word = term.toLowerCase();
    if (/^(a|an|and|are|as|at|be|by|do|for|if|in|is|it|not|of|on|or|than|that|the|to|when|which|with)$/.test(word)) return null;
    return word.length > 3 ? word.replace(/(?<!s)s$/, '') : word;
  },
  // Words with dots and hyphens, such as x-kubernetes-immutable, are one word besides those that they are made of.
  tokenize(text) {
    const parts = text.split(/[\n\r\p{Z}\p{P}=<>|+`]+/u).filter((part) => part !== '');
    const whole = text.match(/[\p{L}\p{N}]+(?:[-.][\p{L}\p{N}]+)+/gu) ?? [];
    return [...parts, ...whole];
  },
};
