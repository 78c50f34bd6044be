// The state of the page in its address, so that it can be shared: JSON, deflated, in base64url, behind the #.

async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

export async function encode(state) {
  const packed = await through(new CompressionStream('deflate-raw'), new TextEncoder().encode(JSON.stringify(state)));
  let text = '';
  for (const byte of packed) text += String.fromCharCode(byte);
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

// decode returns the state behind the #, or null where there is none; it throws where it is damaged.
export async function decode(hash) {
  const text = hash.replace(/^#/, '');
  if (text === '') return null;
  const packed = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(await through(new DecompressionStream('deflate-raw'), packed)));
}
