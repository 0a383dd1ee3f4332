/**
 * Claims of actions in Korean, Arabic, Hungarian, Czech and Finnish, with the same verbs as `foreign-verbs.ts`: a first person
 * in a past tense, or the passive that stands for it in Arabic. A language is one row of `LANGUAGES` and a column of words.
 */
interface Forms {
  /** First person of the past. */
  readonly hu?: string;
  readonly fi?: string;
  /** Participles of the past, without the ending for women and for several. */
  readonly cs?: string;
  /** Nouns of actions that are done with `하다`; whole stems of the past after a bar. */
  readonly ko?: string;
  /** Nouns of actions; first persons of the past after a bar. */
  readonly ar?: string;
}

const VERBS: { readonly [english: string]: Forms } = {
  sent: {
    hu: 'küldtem elküldtem kiküldtem továbbítottam',
    fi: 'lähetin toimitin välitin',
    cs: 'odeslal poslal zaslal',
    ko: '발송 전송 송부 | 보냈 보내\\s?드렸',
    ar: 'إرسال ارسال | أرسلت ارسلت بعثت',
  },
  cancelled: {
    hu: 'lemondtam visszavontam sztornóztam stornóztam',
    fi: 'peruin peruutin perutin',
    cs: 'zrušil stornoval',
    ko: '취소',
    ar: 'إلغاء الغاء | ألغيت الغيت',
  },
  deleted: {
    hu: 'töröltem kitöröltem eltávolítottam',
    fi: 'poistin',
    cs: 'smazal odstranil vymazal',
    ko: '삭제 제거 | 지웠',
    ar: 'حذف إزالة | حذفت أزلت',
  },
  booked: {
    hu: 'foglaltam lefoglaltam',
    fi: 'varasin',
    cs: 'rezervoval zarezervoval zamluvil objednal',
    ko: '예약 예매',
    ar: 'حجز | حجزت',
  },
  paid: {
    hu: 'fizettem kifizettem befizettem',
    fi: 'maksoin',
    cs: 'zaplatil uhradil',
    ko: '결제 지불 납부',
    ar: 'دفع سداد | دفعت سددت',
  },
  refunded: {
    hu: 'visszatérítettem visszafizettem',
    fi: 'hyvitin palautin',
    cs: 'refundoval vrátil',
    ko: '환불',
    ar: 'استرداد | أعدت رددت',
  },
  updated: {
    hu: 'frissítettem módosítottam megváltoztattam átírtam',
    fi: 'päivitin muutin vaihdoin muokkasin',
    cs: 'aktualizoval změnil upravil',
    ko: '업데이트 변경 수정 갱신 | 바꿨 고쳤',
    ar: 'تحديث تعديل تغيير | حدثت عدلت غيرت',
  },
  created: {
    hu: 'létrehoztam',
    fi: 'loin',
    cs: 'vytvořil založil',
    ko: '생성 작성 | 만들었',
    ar: 'إنشاء انشاء | أنشأت',
  },
  added: {
    hu: 'hozzáadtam felvettem',
    fi: 'lisäsin',
    cs: 'přidal doplnil',
    ko: '추가 | 넣었',
    ar: 'إضافة اضافة | أضفت',
  },
  deployed: { hu: 'telepítettem élesítettem', fi: 'asensin', cs: 'nasadil', ko: '배포', ar: 'نشر | نشرت' },
  published: { hu: 'közzétettem publikáltam', fi: 'julkaisin', cs: 'publikoval zveřejnil', ko: '게시 공개' },
  merged: { hu: 'egyesítettem', fi: 'yhdistin', cs: 'sloučil', ko: '병합', ar: 'دمج | دمجت' },
  restarted: {
    hu: 'újraindítottam',
    fi: 'käynnistin',
    cs: 'restartoval',
    ko: '재시작 재부팅',
    ar: 'إعادة تشغيل',
  },
  ordered: {
    hu: 'rendeltem megrendeltem',
    fi: 'tilasin',
    cs: 'objednal',
    ko: '주문 발주',
    ar: 'طلب | طلبت',
  },
  transferred: {
    hu: 'átutaltam utaltam áthelyeztem átraktam',
    fi: 'siirsin',
    cs: 'převedl přesunul',
    ko: '이체 송금 이동 이전 | 옮겼',
    ar: 'تحويل نقل | حولت نقلت',
  },
  submitted: {
    hu: 'benyújtottam beadtam igényeltem',
    fi: 'jätin hain',
    cs: 'podal předložil',
    ko: '제출 신청 접수',
    ar: 'تقديم | قدمت',
  },
  recorded: {
    hu: 'rögzítettem regisztráltam bejegyeztem',
    fi: 'kirjasin rekisteröin tallensin',
    cs: 'zaznamenal zaregistroval uložil',
    ko: '등록 기록 저장',
    ar: 'تسجيل حفظ | سجلت حفظت',
  },
  purchased: {
    hu: 'megvettem vásároltam megvásároltam',
    fi: 'ostin',
    cs: 'koupil zakoupil',
    ko: '구매 구입 | 샀',
    ar: 'شراء | اشتريت',
  },
  issued: { hu: 'kiállítottam', fi: 'myönsin', cs: 'vystavil', ko: '발행 발급', ar: 'إصدار | أصدرت' },
  rolled: { hu: 'visszaállítottam', fi: 'palautin', cs: 'obnovil', ko: '롤백 복구' },
  closed: { hu: 'lezártam bezártam', fi: 'suljin', cs: 'uzavřel zavřel', ko: '종료 | 닫았', ar: 'إغلاق | أغلقت' },
  notified: {
    hu: 'értesítettem',
    fi: 'ilmoitin',
    cs: 'upozornil informoval',
    ko: '통보 | 알렸',
    ar: 'إخطار إبلاغ | أبلغت',
  },
};

const KOREAN_DID = '(?:을|를|도|까지)?\\s?(?:완료)?(?:했|하였|해\\s?드렸|해\\s?놓았|해\\s?두었)';
const ARABIC_DID = '(?:تم|تمت|قمت ب|قمنا ب)\\s?';
/** A record of the past, which the agent may have read. */
const ARABIC_RECORD = /\d{4}-\d|(?:سابقا|أمس|مسبقا|بالفعل)/u;

interface Language {
  readonly column: keyof Forms;
  /** The pattern of a form. */
  readonly matches: (form: string, isNoun: boolean) => string;
  /** Words are joined, so a form may stand inside of one. */
  readonly isJoined?: true;
  /** The clause claims nothing: it is negated, or has no first person. */
  readonly isVoid: (clause: string) => boolean;
}

const LANGUAGES: readonly Language[] = [
  { column: 'hu', matches: (form) => form, isVoid: (clause) => /(?<!\p{L})(?:nem|sem|ne)(?!\p{L})/iu.test(clause) },
  {
    column: 'fi',
    matches: (form) => form,
    isVoid: (clause) => /(?<!\p{L})(?:en|emme|ei|eivät)(?!\p{L})/iu.test(clause),
  },
  {
    column: 'cs',
    matches: (form) => `${form}[aiy]?`,
    isVoid: (clause) => !/(?<!\p{L})(?:jsem|jsme)(?!\p{L})/iu.test(clause),
  },
  {
    column: 'ko',
    matches: (form, isNoun) => (isNoun ? `${form}${KOREAN_DID}` : form),
    isJoined: true,
    isVoid: () => false,
  },
  {
    column: 'ar',
    matches: (form, isNoun) => (isNoun ? `و?${ARABIC_DID}(?:ال)?${form}` : `و?${form}`),
    isVoid: (clause) => ARABIC_RECORD.test(clause) || /(?<!\p{L})(?:لم|لن|لا|ما)(?!\p{L})/u.test(clause),
  },
];

interface Patterns {
  /** Finds any of the verbs. Most texts have none of them. */
  readonly any: RegExp;
  readonly verbs: readonly { readonly english: string; readonly pattern: () => RegExp }[];
  readonly isVoid: (clause: string) => boolean;
}

let patterns: readonly Patterns[] | undefined;

/** Patterns with classes of letters take long to make, so each is made on first use. */
function allPatterns(): readonly Patterns[] {
  patterns ??= LANGUAGES.map(patternsOf);
  return patterns;
}

function patternsOf({ column, matches, isJoined, isVoid }: Language): Patterns {
  const forms = Object.entries(VERBS).map(([english, { [column]: text = '' }]) => ({
    english,
    all: text.split('|').flatMap((part, at) => (part.match(/\S+/g) ?? []).map((form) => matches(form, at === 0))),
  }));
  const patternOf = (all: readonly string[]): RegExp =>
    new RegExp(isJoined === true ? all.join('|') : `(?<!\\p{L})(?:${all.join('|')})(?!\\p{L})`, 'iu');
  const verbs = forms
    .filter(({ all }) => all.length > 0)
    .map(({ english, all }) => {
      let made: RegExp | undefined;
      return { english, pattern: () => (made ??= patternOf(all)) };
    });
  return { any: patternOf(forms.flatMap(({ all }) => all)), verbs, isVoid };
}

/** The English past forms of the verbs that a sentence claims, with the clauses that claim them. */
export function furtherClaimsIn(sentence: string): readonly { readonly word: string; readonly what: string }[] {
  if (/[?？؟]\s*$/.test(sentence)) return [];
  const clauses = sentence.split(/[,;،]\s|\s(?:és|valamint|a|ja|sekä|ale)\s|\s(?=و?تم)/u);
  return clauses.flatMap((what) =>
    allPatterns()
      .filter(({ any, isVoid }) => any.test(what) && !isVoid(what))
      .flatMap(({ verbs }) => verbs.filter(({ pattern }) => pattern().test(what)))
      .map(({ english }) => ({ word: english, what })),
  );
}
