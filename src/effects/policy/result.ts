/**
 * `policy:result`: an answer that only announces, asks or apologises is not a result. Each sentence is classified by how it
 * begins; one sentence with content is enough. English, German, French and Spanish are known.
 */
import type { Json } from '../../expr/json.ts';
import type { Call } from '../../runtime/ports.ts';

type Kind = 'content' | 'courtesy' | 'asks' | 'announces' | 'declines' | 'apologises';

const REASONS: { readonly [kind in Exclude<Kind, 'content' | 'courtesy'>]: string } = {
  asks: 'the reply asks a question instead of giving a result; to ask, reply {"status": "missing_info", "question": …}',
  announces: 'the reply announces an action instead of giving a result; make the call, then report what it returned',
  declines:
    'the reply says what could not be done; reply {"status": "impossible", "reason": …} or {"status": "partial", "answer": …, "reason": …}',
  apologises: 'the reply apologises and gives no result',
};
const PRECEDENCE = ['asks', 'announces', 'declines', 'apologises'] as const;

export function checkResult({ command }: Call): Json {
  return judgeResult(command.input['answer'] ?? null);
}

export function judgeResult(answer: Json): { readonly ok: boolean; readonly kind?: string; readonly reason?: string } {
  const kinds = typeof answer === 'string' ? sentencesOf(answer).map(kindOf) : [];
  if (kinds.includes('content')) return { ok: true };
  const kind = PRECEDENCE.find((each) => kinds.includes(each));
  return kind === undefined ? { ok: true } : { ok: false, kind, reason: REASONS[kind] };
}

function sentencesOf(text: string): readonly string[] {
  return text
    .split(/\n+|(?<=[.!?…:])\s+/)
    .map((part) => part.replace(/^[\s*#>•–—-]+|[*\s]+$/g, ''))
    .filter((part) => /[\p{L}\p{N}]/u.test(part));
}

function kindOf(sentence: string): Kind {
  const text = sentence.replace(/’/g, "'").replace(LEAD, '');
  if (COURTESY.test(text)) return 'courtesy';
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
  /^(?:let me\b(?! know)|let's\b|allow me\b|(?:i|we)(?:'ll| will| shall)\b|(?:i'm|i am|we're|we are) (?:now |just |currently )?(?:going to|about to|\p{L}+ing\b)|(?:please )?(?:wait|hold on|stand by|bear with)|(?:one|just a) (?:moment|second|minute)|give me (?:a|one)|working on (?:it|that)|proceeding\b|ich (?:werde|schaue|prüfe|kümmere)\b|lassen sie mich|einen moment|je vais\b|laissez-moi|un instant|voy a\b|déjame|permítame|un momento)/iu;
const DECLINES =
  /^(?:(?:i'm |i am )?(?:sorry|afraid)[,.]?(?: but)?(?: that)? )?(?:i|we) (?:could not|couldn't|cannot|can't|can not|was not able|were not able|wasn't able|am not able|am unable|was unable|were unable|did not (?:find|manage)|didn't (?:find|manage)|failed to|do not know|don't know|konnte|kann)\b|^(?:ich konnte|ich kann|je n'ai pas|je ne peux|no pude|no puedo|no he podido)/i;
const APOLOGY =
  /^(?:(?:i'm |i am |we're |we are )?(?:very |so |really )?sorry\b|(?:i|we|my|our) apologi[sz]e?|my apologies|es tut mir leid|désolée?\b|je suis désolée?|lo siento|disculpe)/i;
