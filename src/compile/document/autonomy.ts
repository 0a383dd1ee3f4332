/** The words of the autonomy boundary that several sections share. */

/** What a call does to the world. */
export const EFFECTS = ['read', 'write', 'financial', 'communication', 'infrastructure'] as const;
/** What a model may decide by itself within a turn. */
export const DECISIONS = ['tools', 'arguments', 'repair', 'clarify', 'plan', 'escalate'] as const;
