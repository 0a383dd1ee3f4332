/** Effect classes: how a tool call changes the world. `egress` reads, but its arguments leave the machine. */
export const EFFECT_CLASSES = ['read', 'egress', 'write', 'financial', 'communication', 'infrastructure'] as const;
export type EffectClass = (typeof EFFECT_CLASSES)[number];

/** True if a call of this class changes nothing. */
export function onlyReads(effect: EffectClass | undefined): boolean {
  return effect === 'read' || effect === 'egress';
}
