/** A validator as a user writes one: a function that is given the evidence and says yes, or no and why. */
import type { Evidence, Verdict } from '@sluice-internal/guard/evidence';

export async function hasNotes(evidence: Evidence): Promise<Verdict> {
  const notes = await evidence.readText('NOTES.md');
  return notes === null || notes.trim() === ''
    ? { ok: false, reason: 'NOTES.md is empty or missing.' }
    : { ok: true, reason: '' };
}
