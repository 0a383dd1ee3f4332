/**
 * Claims of actions in German, French, Spanish, Italian, Portuguese, Dutch and Polish: a first person in a past tense, with a
 * verb of the table. Each verb is reported under its English stem, so that the tools' own words decide as for English.
 */
interface Verb {
  readonly english: string;
  /** Past forms, as they follow `ich habe`, `j'ai`, `he`, `ho`, `ik heb`; simple pasts of the first person behind a bar. */
  readonly forms: string;
  /** Imperatives and infinitives. A form after `^` counts only at the start of the sentence. */
  readonly asks?: string;
}

const VERBS: readonly Verb[] = [
  {
    english: 'sent',
    forms:
      'gesendet verschickt geschickt envoyé enviado inviato spedito verstuurd gestuurd | enviei envié wysłałem wysłałam',
    asks: 'schicke sende schick verschicke schicken senden envoie envoyez envoyer envía enviar envíe envie invia inviare invii stuur sturen verstuur wyślij wysłać отправь отправить отправьте 发送 送って',
  },
  {
    english: 'cancelled',
    forms:
      'storniert abgesagt gekündigt annulé cancelado anulado cancellato annullato geannuleerd | cancelei cancelé anulowałem anulowałam',
    asks: 'storniere stornieren kündige kündigen annule annulez annuler cancela cancelar cancele anula anular annulla annullare annulleer annuleren anuluj anulować отмени отменить отмените 取消 キャンセルして',
  },
  {
    english: 'deleted',
    forms:
      'gelöscht entfernt supprimé effacé eliminado borrado cancellato eliminato verwijderd apagado | eliminei apaguei eliminé borré usunąłem usunęłam',
    asks: 'lösche löschen entferne entfernen supprime supprimez supprimer efface effacez elimina eliminar borra borrar eliminare verwijder verwijderen usuń usunąć apague apagar удали удалить удалите 删除 削除して',
  },
  {
    english: 'booked',
    forms:
      'gebucht reserviert réservé reservado prenotato geboekt gereserveerd | reservei reservé zarezerwowałem zarezerwowałam',
    asks: 'buche buchen reserviere reservieren réserve réservez réserver ^reserva reservar ^reserve prenota prenotare ^boek boeken zarezerwuj zarezerwować забронируй забронировать 预订 予約して',
  },
  {
    english: 'paid',
    forms: 'bezahlt überwiesen payé versé pagado pagato betaald pago | paguei pagué zapłaciłem zapłaciłam',
    asks: 'bezahle bezahlen zahle überweise überweisen paie payez payer paga pagar pague pagare betaal betalen zapłać zapłacić оплати оплатить 支付 支払って',
  },
  {
    english: 'refunded',
    forms: 'erstattet zurückerstattet remboursé reembolsado rimborsato terugbetaald | reembolsei reembolsé zwróciłem',
    asks: 'erstatte erstatten rembourse remboursez rembourser reembolsa reembolsar rimborsa rimborsare terugbetalen reembolse zwróć верни вернуть 退款 返金して',
  },
  {
    english: 'updated',
    forms:
      'aktualisiert geändert angepasst modifié actualisé actualizado modificado aggiornato modificato bijgewerkt gewijzigd aangepast atualizado | atualizei alterei modifiquei actualicé modifiqué zaktualizowałem',
    asks: 'aktualisiere aktualisieren ändere ändern modifie modifiez actualiza actualizar ^modifica modificar aggiorna aggiornare modificare wijzig wijzigen atualize atualizar zaktualizuj обнови обновить 更新',
  },
  {
    english: 'created',
    forms: 'erstellt angelegt créé creado creato aangemaakt gemaakt criado | criei creé utworzyłem utworzyłam',
    asks: 'erstelle erstellen lege créez créer crea crear creare cree crie criar maak aanmaken utwórz utworzyć создай создать 创建 作成して',
  },
  {
    english: 'added',
    forms:
      'hinzugefügt eingetragen ajouté añadido agregado aggiunto toegevoegd adicionado | adicionei añadí dodałem dodałam',
    asks: 'füge hinzufügen ajoute ajoutez ajouter añade añadir agrega agregar aggiungi aggiungere voeg toevoegen adicione adicionar dodaj dodać добавь добавить 添加 追加して',
  },
  {
    english: 'deployed',
    forms: 'ausgerollt deployt déployé desplegado distribuito uitgerold implantado | implantei desplegué wdrożyłem',
    asks: 'deploye deployen ausrollen déploie déployez déployer despliega desplegar distribuisci implante implantar wdróż',
  },
  {
    english: 'published',
    forms: 'veröffentlicht publié publicado pubblicato gepubliceerd | publiquei publiqué opublikowałem',
    asks: 'veröffentliche veröffentlichen publie publiez publier ^publica publicar pubblica pubblicare publiceer publiceren publique opublikuj опубликуй',
  },
  {
    english: 'merged',
    forms: 'gemergt zusammengeführt fusionné fusionado unito samengevoegd | fusionei fusioné',
    asks: 'merge mergen zusammenführen fusionne fusionnez fusionner fusiona fusionar unisci',
  },
  {
    english: 'restarted',
    forms: 'neugestartet redémarré reiniciado riavviato herstart | reiniciei reinicié',
    asks: 'neustarten redémarre redémarrez redémarrer reinicia reiniciar riavvia riavviare herstarten reinicie перезапусти 重启 再起動して',
  },
  {
    english: 'ordered',
    forms: 'bestellt commandé pedido ordinato besteld encomendado | encomendei pedí zamówiłem zamówiłam',
    asks: 'bestelle bestell bestellen commandez commander ^commande pide pedir pida encarga encargar ordena ordenar ordina ordinare ordini bestel encomende encomendar zamów zamówić закажи закажите заказать 订购 下单 注文して',
  },
  { english: 'reserved', forms: 'reserviert réservé reservado riservato gereserveerd | reservei reservé' },
];

/** The auxiliaries of the first person, with up to eight words up to the participle. */
const AUXILIARY =
  /(?:\b(?:ich habe|wir haben|hab(?:e)? ich|j['’]ai|je l['’]ai|je les ai|nous avons|la he|lo he|las he|los he|he|hemos|ho|abbiamo|l['’]ho|ik heb|heb ik|we hebben|tenho)\b)(?<rest>(?:[^.!?\n]|(?<=\d)\.)*)/giu;
const NEGATED =
  /\b(?:nicht|nichts|kein\w*|nie|pas|rien|aucun\w*|jamais|no|ningún\w*|nada|nunca|non|nulla|niente|nessun\w*|mai|niet|niets|geen|nooit|não|nenhum\w*|nie)\b/iu;

const PARTICIPLES = new Map<string, string>();
const PASTS = new Map<string, string>();
for (const { english, forms } of VERBS) {
  const [participles = '', pasts = ''] = forms.split('|');
  for (const each of words(participles)) if (!PARTICIPLES.has(each)) PARTICIPLES.set(each, english);
  for (const each of words(pasts)) if (!PASTS.has(each)) PASTS.set(each, english);
}

const ASKED = new Map<string, string>();
for (const { english, asks = '' } of VERBS)
  for (const each of asks.split(' ')) if (!ASKED.has(each)) ASKED.set(each, english);

/** The English past form of the verb that a sentence asks for; null if it asks for none. */
export function requestedVerb(sentence: string): string | null {
  const asked = words(sentence);
  for (const word of asked) if (ASKED.has(word)) return ASKED.get(word) ?? null;
  for (const [form, english] of ASKED)
    if (form.startsWith('^') ? asked[0] === form.slice(1) : DENSE.test(form) && sentence.includes(form)) return english;
  return null;
}

const DENSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

export interface ForeignClaim {
  /** The English past form of the verb. */
  readonly word: string;
  /** The rest of the clause, which names the thing. */
  readonly what: string;
}

/** The claims of one sentence. A negated sentence claims nothing. */
export function foreignClaimsIn(sentence: string): readonly ForeignClaim[] {
  const found: ForeignClaim[] = [];
  for (const match of sentence.matchAll(AUXILIARY)) {
    const rest = match.groups?.['rest'] ?? '';
    // `Je n'ai pas envoyé`: the negation may stand before the auxiliary.
    if (NEGATED.test(rest) || /\b(?:no|non|não|n['’])\s*$/iu.test(sentence.slice(0, match.index))) continue;
    for (const word of words(rest))
      if (PARTICIPLES.has(word)) found.push({ word: PARTICIPLES.get(word) ?? '', what: rest });
  }
  if (!NEGATED.test(sentence))
    for (const word of words(sentence))
      if (PASTS.has(word)) found.push({ word: PASTS.get(word) ?? '', what: sentence });
  return found;
}

function words(text: string): readonly string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? [];
}
