/**
 * The positions nearest to the wanted ones that keep every distance: variables that press against each other move together
 * as one block, at the weighted mean of the wanted positions of its members.
 */
export interface Separation {
  readonly left: number;
  readonly right: number;
  readonly gap: number;
}

interface Block {
  members: { readonly variable: number; readonly offset: number }[];
  position: number;
  weight: number;
}

/** `order` lists the variables so that each `left` comes before its `right`. */
export function separate(
  wanted: readonly number[],
  weights: readonly number[],
  order: readonly number[],
  before: readonly (readonly Separation[])[],
): number[] {
  const blockOf: Block[] = wanted.map((position, variable) => ({
    members: [{ variable, offset: 0 }],
    position,
    weight: weights[variable] ?? 1,
  }));
  const offsetOf: number[] = wanted.map(() => 0);
  const at = (variable: number): number => (blockOf[variable] as Block).position + (offsetOf[variable] as number);

  const worst = (block: Block): Separation | null => {
    let found: Separation | null = null;
    let most = 1e-6;
    for (const { variable } of block.members) {
      for (const each of before[variable] ?? []) {
        if (blockOf[each.left] === block) continue;
        const violation = at(each.left) + each.gap - at(variable);
        if (violation > most) [found, most] = [each, violation];
      }
    }
    return found;
  };
  const merge = ({ left, right, gap }: Separation): Block => {
    const [into, from] = [blockOf[left] as Block, blockOf[right] as Block];
    const shift = (offsetOf[left] as number) + gap - (offsetOf[right] as number);
    into.position = (into.position * into.weight + (from.position - shift) * from.weight) / (into.weight + from.weight);
    into.weight += from.weight;
    for (const { variable, offset } of from.members) {
      into.members.push({ variable, offset: offset + shift });
      offsetOf[variable] = offset + shift;
      blockOf[variable] = into;
    }
    return into;
  };
  for (const variable of order) {
    let block = blockOf[variable] as Block;
    for (let violated = worst(block); violated !== null; violated = worst(block)) block = merge(violated);
  }
  return wanted.map((_, variable) => at(variable));
}
