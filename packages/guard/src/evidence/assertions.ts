/**
 * Finds assertions in test files, by language. Comments and the contents of strings do not count, so a file that only speaks
 * of assertions has none.
 */
import { RE2JS } from 're2js';

interface Language {
  readonly name: string;
  readonly files: string;
  /** Patterns, in RE2 syntax. */
  readonly patterns: readonly string[];
  /** Examples for messages. */
  readonly such: string;
  /** The beginnings of comments that end with the line. */
  readonly comments?: readonly string[];
  /** Patterns that are written in comments, such as the expected output of an example. */
  readonly inComments?: readonly string[];
  /** The marks of texts. */
  readonly quotes?: string;
}

/** Found in every language. */
const COMMON = ['\\bassert\\w*\\b', '\\bexpect\\w*\\b', '\\bif\\b.+\\bthrow\\b'];
const C_COMMENTS = ['//'];

const LANGUAGES: readonly Language[] = [
  {
    name: 'JavaScript and TypeScript',
    files: 'js mjs cjs jsx ts mts cts tsx vue svelte',
    patterns: [
      '\\.should\\b',
      '\\b(?:t|test|tap|qunit|chai|sinon|cy)\\.(?:is\\w*|deep\\w*|not\\w*|true|false|truthy|falsy|equals?|same|strict\\w*|ok|pass|fail|throws\\w*|rejects|like|regex|match\\w*|snapshot|get|contains)\\(',
      'if\\s*\\(.+\\)\\s*\\{?\\s*process\\.exit(?:Code)?',
    ],
    such: '`expect(…)`, `assert.equal(…)`',
    comments: C_COMMENTS,
    quotes: '"\'`',
  },
  {
    name: 'Python',
    files: 'py',
    patterns: [
      '\\.assert\\w+',
      '\\bpytest\\.(?:raises|warns|fail|deprecated_call)\\b',
      '\\bself\\.fail\\w*\\(',
      '\\.should\\b',
    ],
    such: '`assert x == y`, `self.assertEqual(…)`, `pytest.raises(…)`',
    comments: ['#'],
    inComments: ['(?m)^\\s*>>> '],
    quotes: '"\'',
  },
  {
    name: 'Go',
    files: 'go',
    patterns: [
      '\\b(?:t|tb|b|f|m|tt|tc|ts|c|g|s|is|testing|test|suite|require|assert|check|qt)\\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow|Failf|Equal\\w*|NotEqual\\w*|Nil|NotNil|NoErr\\w*|True|False|Assert|Check|Contains|Len|Panics\\w*|ErrorIs|Eventually)\\(',
      '\\b(?:Expect|Eventually|Ω)\\(',
      '\\bpanic\\(',
      '\\bos\\.Exit\\([1-9]',
    ],
    such: '`t.Errorf(…)`, `t.Fatal(…)`, `require.Equal(…)`',
    comments: C_COMMENTS,
    inComments: ['(?m)^\\s*//\\s*(?:Unordered )?[Oo]utput:'],
    quotes: '"`',
  },
  {
    name: 'Rust',
    files: 'rs',
    patterns: [
      '\\bshould_panic\\b',
      '\\bpanic!',
      '\\bprop_assert\\w*!',
      '\\bunreachable!',
      '\\bquickcheck!?',
      '->\\s*Result<',
    ],
    such: '`assert_eq!(…)`, `#[should_panic]`',
    comments: C_COMMENTS,
    quotes: '"',
  },
  {
    name: 'Java, Kotlin, Scala and Groovy',
    files: 'java kt kts scala groovy',
    patterns: [
      '\\bfail\\(',
      '\\bverify\\w*\\s*[({]',
      '\\bshould\\w*\\b',
      '\\bmust\\w*\\b',
      '\\b(?:andExpect|isEqualTo|thenThrow|StepVerifier|expectError)\\b',
      '(?m)^\\s*(?:then|expect):',
    ],
    such: '`assertEquals(…)`, `assertThat(…)`, `shouldBe`',
    comments: C_COMMENTS,
    quotes: '"',
  },
  {
    name: 'C# and F#',
    files: 'cs fs fsx vb',
    patterns: ['\\bShould\\w*\\b', '\\bshould\\b', '\\.Verify\\w*\\(', '\\bThrows\\w*\\b', '=!'],
    such: '`Assert.Equal(…)`, `.Should().Be(…)`',
    comments: C_COMMENTS,
    quotes: '"',
  },
  {
    name: 'Ruby',
    files: 'rb',
    patterns: [
      '\\b(?:refute|flunk|must|wont)(?:_\\w+)?\\b',
      '\\bis_expected\\b',
      '\\.should(?:_not)?\\b',
      '\\braise\\b.+\\b(?:if|unless)\\b',
    ],
    such: '`assert_equal …`, `expect(…).to …`',
    comments: ['#'],
    quotes: '"\'',
  },
  {
    name: 'PHP',
    files: 'php',
    patterns: ['->(?:fail|should\\w*|see\\w*|toBe\\w*)\\(', '\\bself::fail\\('],
    such: '`$this->assertSame(…)`, `expect(…)->toBe(…)`',
    comments: ['//', '#'],
    quotes: '"\'',
  },
  {
    name: 'C and C++',
    files: 'c cc cpp cxx h hh hpp m mm',
    patterns: [
      '\\b(?:ASSERT|EXPECT|CHECK|REQUIRE|TEST_ASSERT|BOOST_\\w+|CU_ASSERT|TEST_CHECK|TEST|VERIFY|UNSIGNED_LONGS|LONGS|STRCMP)\\w*_?(?:EQ\\w*|NE|TRUE|FALSE|EQUAL\\w*|THROW\\w*|NULL|MESSAGE|THAT|CLOSE|FAIL\\w*)\\w*\\s*\\(',
      '\\b(?:ASSERT|EXPECT|CHECK|REQUIRE|TEST_ASSERT|TEST_CHECK|QVERIFY|QCOMPARE|XCTAssert)\\w*\\s*\\(',
      '\\b(?:ck_|cr_|mu_|munit_|static_)assert\\w*\\s*\\(',
      '\\babort\\s*\\(\\s*\\)',
      'if\\s*\\(.+\\)\\s*\\{?\\s*(?:return|exit\\s*\\()\\s*[1-9]',
    ],
    such: '`assert(…)`, `EXPECT_EQ(…)`, `REQUIRE(…)`',
    comments: C_COMMENTS,
    quotes: '"',
  },
  {
    name: 'Swift',
    files: 'swift',
    patterns: ['\\bXCT(?:Assert|Fail|Unwrap)\\w*', '#require\\b', '\\bprecondition\\w*\\('],
    such: '`XCTAssertEqual(…)`, `#expect(…)`',
    comments: C_COMMENTS,
    quotes: '"',
  },
  {
    name: 'Elixir and Erlang',
    files: 'ex exs erl',
    patterns: ['\\b(?:refute|flunk)\\w*\\b', '\\bdoctest\\b', '\\?assert\\w*', '\\bcheck all\\b'],
    such: '`assert …`, `refute …`',
    comments: ['#', '%'],
    quotes: '"',
  },
  {
    name: 'Dart',
    files: 'dart',
    patterns: ['\\bverify\\w*\\(', '\\bfail\\('],
    such: '`expect(…)`',
    comments: C_COMMENTS,
    quotes: '"\'',
  },
  {
    name: 'shell',
    files: 'sh bash bats zsh',
    patterns: [
      '(?:^|[\\s!;&|(])\\[\\[?\\s.+\\s\\]\\]?',
      '(?m)(?:^|[;&|!]|\\bif|\\bthen)\\s*(?:test|diff|cmp|grep -q|refute\\w*)\\s',
      '\\bexit\\s+[1-9]',
      '\\breturn\\s+[1-9]',
    ],
    such: '`[ "$x" = y ]`, `test …`, `diff …`, `assert_output …`',
    comments: ['#'],
    quotes: '"\'',
  },
  {
    name: 'Haskell',
    files: 'hs lhs',
    patterns: ['\\bshould\\w+', '@[?=]=?|@=\\?', '\\b(?:prop_\\w+|property|quickCheck\\w*|hedgehog)\\b', '==='],
    such: '`shouldBe`, `@?=`',
    comments: ['--'],
    quotes: '"',
  },
  {
    name: 'Clojure',
    files: 'clj cljs cljc',
    patterns: ['\\((?:is|are|fact|facts|testing-is)\\s', '\\(thrown\\?', '=>'],
    such: '`(is (= …))`',
    comments: [';'],
    quotes: '"',
  },
  {
    name: 'Lua',
    files: 'lua',
    patterns: ['\\b(?:lu|luaunit)\\.\\w+', '\\berror\\s*\\(', '\\.(?:are|is|has)\\.\\w+'],
    such: '`assert(…)`, `assert.are.equal(…)`',
    comments: ['--'],
    quotes: '"\'',
  },
  {
    name: 'Perl',
    files: 'pl pm t',
    patterns: [
      '\\b(?:ok|is|isnt|like|unlike|is_deeply|cmp_ok|can_ok|isa_ok|fail|throws_ok|dies_ok|lives_ok)\\b\\s*\\(?',
      '\\bdie\\b',
    ],
    such: '`is($x, $y)`, `ok(…)`',
    comments: ['#'],
    quotes: '"\'',
  },
  { name: 'R', files: 'r', patterns: ['\\bstopifnot\\('], such: '`expect_equal(…)`', comments: ['#'], quotes: '"\'' },
  { name: 'Julia', files: 'jl', patterns: ['@test\\w*'], such: '`@test …`', comments: ['#'], quotes: '"' },
  {
    name: 'Zig, Nim and OCaml',
    files: 'zig nim ml mli',
    patterns: ['\\bcheck\\b', '\\bAlcotest\\.\\w+', 'let%\\w+', '\\bdoAssert\\b'],
    such: '`expect(…)`, `check …`, `assert …`',
    comments: ['//', '#'],
    quotes: '"',
  },
  {
    name: 'PowerShell',
    files: 'ps1 psm1',
    patterns: ['\\bShould\\b'],
    such: '`| Should -Be …`',
    comments: ['#'],
    quotes: '"\'',
  },
];

const BY_EXTENSION = new Map(LANGUAGES.flatMap((each) => each.files.split(' ').map((end) => [end, each] as const)));

/** A file without code: data, pages, and files that only set tests up. */
const NO_CODE =
  /\.(?:json5?|jsonl|ya?ml|toml|xml|html?|css|scss|md|mdx|rst|txt|csv|tsv|sql|snap|lock|ini|cfg|conf|env|png|jpe?g|gif|svg|ico|pdf|zip|gz|golden|out|feature|mod|sum|gradle|properties|csproj|sln)$/i;
const HELPER_FOLDER = /(?:^|\/)(?:fixtures?|testdata|__fixtures__|__mocks__|mocks|helpers?|support|utils?|data)\//i;
const HELPER =
  /^(?:conftest|__init__|mod|spec_helper|rails_helper|test_helper|setup|testutils?|test_utils?|helpers?|common)\.\w+$|\.config\.\w+$/i;
const TEST_NAME = /(^|[._-])(tests?|specs?)([._-]|$)/i;

/** True for a file that should hold tests. */
export function isTestFile(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (NO_CODE.test(path) || HELPER.test(name)) return false;
  if (TEST_NAME.test(name) || /(?:Tests?|Specs?)\.\w+$/.test(name)) return true;
  return !HELPER_FOLDER.test(path) && /(^|[/._-])(tests?|specs?|__tests__)\//i.test(path);
}

/** The verdict about one file. `unknown`: no pattern is known for its language. */
export interface Assertions {
  readonly found: boolean;
  readonly unknown: boolean;
  /** What was looked for, for messages. */
  readonly wanted: string;
}

/** `own` are the patterns of the author, which replace those of the language. */
export function assertionsIn(path: string, text: string, own: readonly string[] | null): Assertions {
  if (own !== null)
    return { found: matchesAny(own, text), unknown: false, wanted: own.map((each) => `\`${each}\``).join(', ') };
  const language = BY_EXTENSION.get(path.slice(path.lastIndexOf('.') + 1).toLowerCase());
  if (language === undefined)
    return { found: matchesAny(COMMON, text), unknown: true, wanted: COMMON.map((each) => `\`${each}\``).join(', ') };
  const code = codeOf(text, language);
  const found = matchesAny([...COMMON, ...language.patterns], code) || matchesAny(language.inComments ?? [], text);
  return { found, unknown: false, wanted: `for ${language.name}, such as ${language.such}` };
}

function matchesAny(patterns: readonly string[], text: string): boolean {
  return patterns.some((pattern) => RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE).matcher(text).find());
}

/** The text without comments and without the contents of strings that end on their line. */
function codeOf(text: string, { comments = [], quotes = '' }: Language): string {
  let code = '';
  for (let at = 0; at < text.length;) {
    const length = skipAt(text, at, comments, quotes);
    if (length === 0) code += text[at];
    // A string stays as an empty one, so that what stands around it can still be read.
    else code += quotes.includes(text[at] ?? '') ? '""' : '';
    at += Math.max(1, length);
  }
  return code;
}

/** The length of the comment or string at this place; 0 if there is none. */
function skipAt(text: string, at: number, comments: readonly string[], quotes: string): number {
  const mark = text[at] ?? '';
  if (quotes.includes(mark) && mark !== '') return stringAt(text, at, mark);
  if (comments.includes('//') && text.startsWith('/*', at)) return lengthTo(text, at, '*/');
  const begins = comments.some((each) => text.startsWith(each, at));
  // `$#` and `#expect` are no comments.
  if (!begins || (mark === '#' && (/[$\w{]/.test(text[at - 1] ?? '') || !/[\s#!]|^$/.test(text[at + 1] ?? ''))))
    return 0;
  const end = text.indexOf('\n', at);
  return (end === -1 ? text.length : end) - at;
}

function stringAt(text: string, at: number, mark: string): number {
  const triple = mark.repeat(3);
  if (mark !== '`' && text.startsWith(triple, at)) return lengthTo(text, at, triple, 3);
  for (let to = at + 1; to < text.length && (mark === '`' || text[to] !== '\n'); to += 1) {
    if (text[to] === '\\') to += 1;
    else if (text[to] === mark) return to + 1 - at;
  }
  return 0;
}

function lengthTo(text: string, at: number, close: string, open = 2): number {
  const end = text.indexOf(close, at + open);
  return (end === -1 ? text.length : end + close.length) - at;
}
