/**
 * Failures that an answer does not mention. The last call that could change something failed, nothing else was changed, and the
 * answer neither denies anything nor repeats a word of the error. A small list of denials per language is enough for this,
 * so it works where the claim itself cannot be read.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import { flat } from '../../text/sources.ts';
import { isFresh, quoted, type Detector, type Observation } from '../detector.ts';
import { requestsIn } from '../requests.ts';

export const failures: Detector = ({ answer, fields, claims }, evidence) => {
  const { observations, tools } = evidence;
  const changing = new Set(tools.flatMap(({ name, changes }) => (changes ? [name] : [])));
  const last = observations.findLast(({ tool }) => changing.has(tool));
  const isChanged = observations.some((o) => o.ok && changing.has(o.tool) && isFresh(o, evidence));
  if (!claims || last === undefined || isChanged || !isFresh(last, evidence) || fields['status'] !== undefined)
    return { findings: [] };
  // An exit code of a command is a result that an answer may report in any words, but not as a success.
  const isMeant = last.error === undefined ? !SUCCEEDED.test(answer) : isOnlyAsked(evidence.userTexts);
  if (last.ok || last.refused !== undefined || isMeant) return { findings: [] };
  if (!isReadable(answer) || admits(answer, last)) return { findings: [] };
  const reason = `does not say that the last call of ${last.tool} failed: ${quoted(flat(last.error ?? last.result ?? null))}`;
  return { findings: [{ kind: 'action', text: answer.trim().split('\n')[0] ?? '', reason }] };
};

/**
 * The last call, if every call of the run was made and failed, and the answer does not mention it. An exit code of a command is
 * a result, and a refused call was not made.
 */
export function unmentionedFailure(answer: string, observations: readonly Observation[]): Observation | null {
  const isError = ({ ok, error, refused }: Observation): boolean =>
    !ok && (error ?? null) !== null && refused === undefined;
  const last = observations.at(-1);
  if (last === undefined || !observations.every(isError) || !isReadable(answer)) return null;
  return admits(answer, last) ? null : last;
}

const SUCCEEDED = /\b(?:succeed(?:s|ed)|success|successful|successfully|compiles|builds|works|passes|cleanly)\b/i;

/** People asked for information only: a call that failed beside it need not be mentioned. */
function isOnlyAsked(userTexts: readonly string[]): boolean {
  const requests = userTexts.map(requestsIn);
  return requests.some(({ reads }) => reads) && requests.every(({ actions }) => actions.length === 0);
}

/** At least two words, in a script of which the denials are known. */
function isReadable(text: string): boolean {
  return (
    /\p{L}[^\p{L}]+\p{L}|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]{4}/u.test(text) && SCRIPTS.test(text)
  );
}

const SCRIPTS =
  /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Arabic}\p{Script=Hebrew}\P{L}]*$/u;

function admits(answer: string, { error = null }: Observation): boolean {
  if (/[?？؟]/.test(answer) || DENIAL.test(answer) || STEM.test(answer) || DENSE.test(answer)) return true;
  if (CZECH.test(answer) && /(?<!\p{L})ne\p{L}{3}/iu.test(answer)) return true;
  const words = new Set(wordsIn(answer));
  return wordsIn(flat(error)).some((word) => words.has(word));
}

/** The reply says that something failed, in a word or a field and not only by a denial. */
export function mentionsFailure(reply: Json): boolean {
  const text = typeof reply === 'string' ? reply : JSON.stringify(reply);
  const plain = text
    .replace(/"[^"]*"\s*:\s*(?:null|false|0|""|\[\])/g, ' ')
    .replace(/\b(?:0|no|zero|without(?: any)?) \p{L}+/giu, ' ');
  return STEM.test(plain) || /\bnot valid\b|\bmissing\b/i.test(plain);
}

/** Letters of Czech, where a verb is denied by its beginning: `nešlo`. */
const CZECH = /[ěřůšžč]/iu;

/** Words of four letters and more, and numbers of three digits and more. */
function wordsIn(text: string): readonly string[] {
  return text.toLowerCase().match(/\p{L}{4,}|\d{3,}/gu) ?? [];
}

/** Whole words. */
const DENIAL = new RegExp(
  `(?<!\\p{L})(?:${`not no cannot never neither nor none nothing without unable but however although though yet still only except
  unfortunately sorry nicht nichts kein keine keinen leider aber jedoch nur ohne pas ne aucun aucune rien mais malheureusement
  hélas sans sin pero nada ningún tampoco lamentablemente non nessun niente purtroppo ma senza não nada mas nenhum infelizmente
  sem niet geen helaas maar zonder nie niestety ale bez inte ingen ej tyvärr men ikke ingen dessverre desværre нет не ни но
  увы degil değil maalesef ama yok hayır nem sajnos de nincs sem ne není nelze bohužel však ei en emme eivät mutta valitettavasti
  nu din păcate dar không tidak nije nisam nažalost али ali δεν όχι لا لم لن ليس لكن للأسف ما غير לא אבל`
    .split(/\s+/)
    .join('|')})(?!\\p{L})|n['’]t(?!\\p{L})`,
  'iu',
);
/** Beginnings of words. */
const STEM =
  /(?<!\p{L})(?:fail|error|refus|reject|denied|deny|declin|block|impossib|invalid|wrong|issue|problem|unsuccess|unavail|expire|timed|fehl|gescheit|abgelehn|verweiger|gesperrt|unmöglich|échou|erreur|refusé|impossibl|fall|rechaz|imposib|erro|rifiut|fallit|recus|falh|mislukt|fout|geweiger|błęd|błąd|odrzuc|nieuda|misslyck|fel|mislyk|feil|fejl|ошиб|отказ|отклон|невозмож|сбой|hata|başarısız|reddedil|hib|sikertelen|elutasít|nepoda|neby|nemoh|chyb|selh|odmít|zamít|epäonnist|virhe|hyläs|eșu|eroar|lỗi|gagal|greš|σφάλμα|απέτυχ|فشل|خطأ|تعذر|رفض|مرفوض|נכשל|שגיאה)/iu;
/** Denials in scripts without spaces, and endings of Korean and Turkish. */
const DENSE =
  /[不没未无無]|失败|失敗|拒|错|誤|エラー|ない|ません|できず|못|않|없|안 |실패|거부|오류|거절|(?:ma|me)d[ıi]|(?:ama|eme)d[ıi]/u;
