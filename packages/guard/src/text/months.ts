/**
 * Names of months, as whole words: English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Danish, Swedish, Czech,
 * Hungarian, Finnish, Turkish and Russian.
 */
const NAMES: readonly string[] = [
  'jan january januar jänner janvier enero gennaio janeiro januari stycznia ledna január tammikuuta ocak января',
  'feb february februar février fevrier febrero febbraio fevereiro februari lutego února február helmikuuta şubat февраля',
  'mar march märz maerz mars marzo março maart marca marts března március maaliskuuta mart марта',
  'apr april avril abril aprile kwietnia dubna április huhtikuuta nisan апреля',
  'may mai mayo maggio maio mei maja maj května május toukokuuta mayıs мая',
  'jun june juni juin junio giugno junho czerwca června június kesäkuuta haziran июня',
  'jul july juli juillet julio luglio julho lipca července július heinäkuuta temmuz июля',
  'aug august août aout agosto augustus sierpnia augusti srpna augusztus elokuuta ağustos августа',
  'sep sept september septembre septiembre settembre setembro września září szeptember syyskuuta eylül сентября',
  'oct october oktober okt octobre octubre ottobre outubro października října október lokakuuta ekim октября',
  'nov november novembre noviembre novembro listopada listopadu marraskuuta kasım ноября',
  'dec december dezember dez décembre decembre diciembre dicembre dezembro grudnia prosince joulukuuta aralık декабря',
];

const MONTHS: ReadonlyMap<string, number> = new Map(
  NAMES.flatMap((names, index) => names.split(' ').map((name) => [name, index + 1] as const)),
);

/** The number of a month, or 0. `Martin` is not March. */
export function monthOf(name: string | undefined): number {
  return MONTHS.get((name ?? '').toLowerCase()) ?? 0;
}
