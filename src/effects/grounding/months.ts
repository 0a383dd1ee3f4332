/** Names of months, as whole words: English, German, French, Spanish, Italian, Portuguese, Dutch and Polish. */
const NAMES: readonly string[] = [
  'jan january januar jänner janvier enero gennaio janeiro januari stycznia',
  'feb february februar février fevrier febrero febbraio fevereiro februari lutego',
  'mar march märz maerz mars marzo março maart marca',
  'apr april avril abril aprile kwietnia',
  'may mai mayo maggio maio mei maja',
  'jun june juni juin junio giugno junho czerwca',
  'jul july juli juillet julio luglio julho lipca',
  'aug august août aout agosto augustus sierpnia',
  'sep sept september septembre septiembre settembre setembro września',
  'oct october oktober okt octobre octubre ottobre outubro października',
  'nov november novembre noviembre novembro listopada',
  'dec december dezember dez décembre decembre diciembre dicembre dezembro grudnia',
];

const MONTHS: ReadonlyMap<string, number> = new Map(
  NAMES.flatMap((names, index) => names.split(' ').map((name) => [name, index + 1] as const)),
);

/** The number of a month, or 0. `Martin` is not March. */
export function monthOf(name: string | undefined): number {
  return MONTHS.get((name ?? '').toLowerCase()) ?? 0;
}
