/** The text on each edge: what the author wrote, and on the edge that closes a cycle what bounds it. */
import type { Picture } from './picture.ts';

export function edgeLabels(picture: Picture): readonly (string | null)[] {
  const bounds = new Map<string, string>();
  for (const { nodes, bound } of picture.cycles) for (const id of nodes) bounds.set(id, bound ?? 'no bound');
  return picture.edges.map(({ to, label, back, kind }) => {
    const shown =
      kind === 'error' ? (label === null ? 'error' : label === 'any error' ? label : `error: ${label}`) : label;
    const bound = back ? bounds.get(to) : undefined;
    if (bound === undefined) return shown;
    return shown === null ? `↺ ${bound}` : `${shown} (↺ ${bound})`;
  });
}
