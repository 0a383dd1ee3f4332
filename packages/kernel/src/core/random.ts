/** Randomness of a run: a number in [0, 1) from its seed and a label. The same run draws the same numbers in a replay. */
export function draw(seed: number, label: string): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let i = 0; i < label.length; i++) hash = Math.imul(hash ^ label.charCodeAt(i), 0x01000193) >>> 0;
  // One round of mulberry32: FNV alone leaves neighbouring labels correlated.
  hash = (hash + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(hash ^ (hash >>> 15), hash | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
}
