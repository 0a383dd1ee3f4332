/**
 * `policy:result`: an answer that only announces, asks or apologises is not a result. Each sentence is classified by how it
 * begins; one sentence with content is enough. A bare confirmation (`Done.`) is no result if no tool was called. The languages are
 * English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian, Chinese and Japanese.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Call } from '@sluice-internal/engine/ports';
import { isWritingTask } from '../values/deeds.ts';
import { speaksOfWriting } from '../values/requests.ts';

type Kind = 'content' | 'courtesy' | 'confirms' | 'asks' | 'announces' | 'declines' | 'apologises';

const REASONS: { readonly [kind in Exclude<Kind, 'content' | 'courtesy'>]: string } = {
  asks: 'the reply asks a question instead of giving a result; to ask, reply {"status": "missing_info", "question": …}',
  announces: 'the reply announces an action instead of giving a result; make the call, then report what it returned',
  declines:
    'the reply says what could not be done; reply {"status": "impossible", "reason": …} or {"status": "partial", "answer": …, "reason": …}',
  apologises: 'the reply apologises and gives no result',
  confirms: 'the reply only confirms, but no tool was called; make the call, or say what you found',
};
const PRECEDENCE = ['asks', 'announces', 'declines', 'apologises'] as const;

export function checkResult({ command }: Call): Json {
  const { answer = null, undone = false } = command.input;
  return judgeResult(answer, { undone: undone === true, writing: isWritingTask(command.input) });
}

interface Task {
  /** The agent can change something, and has called no tool. */
  readonly undone?: boolean;
  /** The task is to write a text: `I will call you tomorrow` can be a sentence of it. */
  readonly writing?: boolean;
}

export function judgeResult(
  answer: Json,
  { undone = false, writing = false }: Task = {},
): { readonly ok: boolean; readonly kind?: string; readonly reason?: string } {
  const kinds =
    typeof answer === 'string'
      ? sentencesOf(answer).map((each) => (writing && isWritten(each) ? 'content' : kindOf(each)))
      : [];
  if (kinds.includes('content')) return { ok: true };
  const isBare = undone && typeof answer === 'string' && (kinds.includes('confirms') || isMark(answer));
  const kind = PRECEDENCE.find((each) => kinds.includes(each)) ?? (isBare ? 'confirms' : undefined);
  return kind === undefined ? { ok: true } : { ok: false, kind, reason: REASONS[kind] };
}

function sentencesOf(text: string): readonly string[] {
  return text
    .split(/\n+|(?<=[.!?…:])\s+/)
    .map((part) => part.replace(/^[\s*#>•–—-]+|[*\s]+$/g, ''))
    .filter((part) => /[\p{L}\p{N}]/u.test(part));
}

/** A sentence of a text that was asked for. It does not announce the text itself. */
function isWritten(sentence: string): boolean {
  const kind = kindOf(sentence);
  return (kind === 'announces' || kind === 'apologises') && !speaksOfWriting(sentence) && !AT_ONCE.test(sentence);
}

const AT_ONCE = /\b(?:let me|allow me|on it|right away|now|moment|second|minute|immediately)\b/i;

/** A text without a letter or a digit, such as a tick. */
function isMark(text: string): boolean {
  return text.trim() !== '' && !/[\p{L}\p{N}]/u.test(text);
}

function kindOf(sentence: string): Kind {
  const text = sentence.replace(/’/g, "'").replace(LEAD, '');
  if (COURTESY.test(text)) return 'courtesy';
  if (CONFIRMS.test(text)) return 'confirms';
  if (sentence.endsWith('?')) return 'asks';
  if (ANNOUNCES.test(text)) return 'announces';
  if (DECLINES.test(text)) return 'declines';
  return APOLOGY.test(text) ? 'apologises' : 'content';
}

/** Words before the sentence proper. */
const LEAD =
  /^(?:(?:ok(?:ay)?|sure|alright|all right|great|certainly|of course|understood|perfect|got it|well|yes|no problem|now|first|next|then|so|but|and|unfortunately|gut|klar|natürlich|leider|bien sûr|d'accord|claro|por supuesto)\b[\s,.!:–—-]*)+/i;
const COURTESY =
  /^(?:$|hi\b|hello\b|dear\b|thank|thanks|you're welcome|please (?:let me know|feel free|don't hesitate)|let me know|feel free|if you (?:have|need)|is there anything else|anything else|(?:i'm |i am )?(?:happy|glad) to help|have a (?:nice|great|good)|best regards|kind regards|gern geschehen|danke|merci|gracias|de nada|kann ich (?:sonst|noch))/i;
const ANNOUNCES =
  /^(?:let me\b(?! know)|let's\b|allow me\b|(?:i|we)(?:'ll| will| shall)\b|(?:i'm|i am|we're|we are) (?:now |just |currently )?(?:going to|about to|\p{L}+ing\b)|(?:please )?(?:wait|hold on|stand by|bear with)|(?:one|just a) (?:moment|second|minute)|give me (?:a|one)|working on (?:it|that)|on it\b|right away\b|\p{L}+ing (?:it|that|this|the|your|them) (?:\p{L}+ )?(?:now|right away|immediately)|proceeding\b|ich (?:werde|schaue|prüfe|kümmere)\b|ich \p{L}+e (?:[\p{L}\d-]+ )*?(?:jetzt|gleich|sofort)\b|lassen sie mich|einen moment|je vais\b|laissez-moi|un instant|je \p{L}+ (?:[\p{L}\d-]+ )*?(?:tout de suite|maintenant)|voy a\b|estoy \p{L}+ndo\b|déjame|permítame|un momento|sto \p{L}+ndo\b|ora \p{L}+o\b|procederò|adesso |vou \p{L}+r\b|estou \p{L}+ndo\b|ik ga\b|ik \p{L}+ nu\b|ik zal\b|zaraz |właśnie |za chwilę|я сейчас|сейчас |今から|これから|ただいま|我马上|我现在|我将|我会|马上|正在)/iu;
const CONFIRMS =
  /^(?:(?:all |it is |it's )?(?:done|finished|completed|set|ready)|(?:you can )?consider it done|nothing (?:more|else|further) to do(?: here)?|erledigt|fertig|(?:c'est )?fait|terminé|hecho|listo|fatto|feito|pronto|klaar|gedaan|gotowe|zrobione|готово|сделано|完了(?:しました|です)?|完成(?:了)?|好的|好了)[.!。！\s]*$/iu;
const DECLINES =
  /^(?:(?:i'm |i am )?(?:sorry|afraid)[,.]?(?: but)?(?: that)? )?(?:i|we) (?:could not|couldn't|cannot|can't|can not|was not able|were not able|wasn't able|am not able|am unable|was unable|were unable|did not (?:find|manage)|didn't (?:find|manage)|failed to|do not know|don't know|konnte|kann)\b|^(?:ich konnte|ich kann|je n'ai pas|je ne peux|no pude|no puedo|no he podido)/i;
const APOLOGY =
  /^(?:(?:i'm |i am |we're |we are )?(?:very |so |really )?sorry\b|(?:i|we|my|our) apologi[sz]e?|my apologies|es tut mir leid|désolée?\b|je suis désolée?|lo siento|disculpe)/i;
