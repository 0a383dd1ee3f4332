/** Effect classes: how a tool call changes the world. `egress` reads, but its arguments leave the machine. */
export const EFFECT_CLASSES = ['read', 'egress', 'write', 'financial', 'communication', 'infrastructure'] as const;
export type EffectClass = (typeof EFFECT_CLASSES)[number];

/** Classes of calls that need the approval of a person. */
export const RISKY: ReadonlySet<string> = new Set<EffectClass>(['financial', 'communication', 'infrastructure']);

/** True if a call of this class changes nothing. */
export function onlyReads(effect: EffectClass | undefined): boolean {
  return effect === 'read' || effect === 'egress';
}
