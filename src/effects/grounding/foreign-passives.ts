/**
 * Claims in other languages that name no actor: `Ordine effettuato.`, `Die Bestellung wurde aufgegeben.`, `La commande a été
 * passée.` A noun of an action with a verb that only says that it happened. Sentences about the past or a date are records.
 */

/** Nouns of actions, by the English past form of the verb. */
const NOUNS: { readonly [english: string]: string } = {
  ordered: 'bestellung auftrag commande pedido orden ordine encomenda bestelling zamówienie заказ',
  paid: 'zahlung paiement pago pagamento betaling płatność платёж платеж',
  transferred: 'überweisung virement transferencia bonifico transferência overboeking przelew перевод',
  refunded: 'erstattung rückerstattung remboursement reembolso rimborso terugbetaling zwrot возврат',
  cancelled:
    'stornierung kündigung annulation cancelación anulación cancellazione annullamento cancelamento annulering anulowanie отмена',
  booked: 'buchung réservation reserva prenotazione boeking reservering rezerwacja бронирование',
  sent: 'nachricht courriel correo messaggio bericht wiadomość письмо сообщение',
  deployed: 'deployment déploiement despliegue distribuzione implantação wdrożenie',
};
/** Participles that only say that something happened, without their endings. */
const HAPPENED =
  /(?<!\p{L})(?:aufgegeben|ausgeführt|durchgeführt|erledigt|abgeschlossen|ausgelöst|getätigt|veranlasst|raus|passé|effectué|réalisé|exécuté|envoyé|validé|confirmé|realizad|efectuad|hech|enviad|confirmad|completad|effettuat|eseguit|inviat|completat|confermat|efetuad|feit|concluíd|geplaatst|uitgevoerd|verzonden|verstuurd|voltooid|złożon|wykonan|wysłan|zrealizowan|оформлен|выполнен|отправлен)(?:e|es|s|o|a|os|as|i|y|ы|о|а)?(?!\p{L})/iu;
const RECORD =
  /\d{4}|(?<!\p{L})(?:bereits|schon|gestern|déjà|hier|ya|ayer|già|ieri|já|ontem|al|gisteren|już|wczoraj|уже|вчера|am \d|le \d|el \d|il \d)(?!\p{L})/iu;
const NEGATED = /(?<!\p{L})(?:nicht|kein\p{L}*|pas|aucun\p{L}*|no|sin|non|não|niet|geen|nie|не)(?!\p{L})|\bn['’]/iu;

const WORDS_MAX = 14;
const ACTIONS = new Map(
  Object.entries(NOUNS).flatMap(([english, nouns]) => nouns.split(' ').map((noun) => [noun, english] as const)),
);

/** The English past form of the verb that the sentence claims; null if it claims none. */
export function passiveClaimIn(sentence: string): string | null {
  const words = sentence.toLowerCase().match(/\p{L}+/gu) ?? [];
  if (words.length > WORDS_MAX || sentence.endsWith('?') || !HAPPENED.test(sentence)) return null;
  if (RECORD.test(sentence) || NEGATED.test(sentence)) return null;
  const noun = words.find((word) => ACTIONS.has(word));
  return noun === undefined ? null : (ACTIONS.get(noun) ?? null);
}
