/**
 * Claims of actions in German, French, Spanish, Italian, Portuguese, Dutch, Polish, Swedish, Norwegian, Danish, Russian, Turkish,
 * Japanese and Chinese: a first person in a past tense, with a verb of the table. Each verb is reported under its English stem,
 * so that the tools' own words decide as for English.
 */
import { furtherClaimsIn } from './further-verbs.ts';

interface Verb {
  readonly english: string;
  /** Past forms, as they follow `ich habe`, `j'ai`, `he`, `ho`, `ik heb`; simple pasts of the first person behind a bar. */
  readonly forms: string;
  /** Pasts of Russian, which need `я` or `мы` beside them. */
  readonly russian?: string;
  /** Nouns of actions in Japanese and Chinese. */
  readonly dense?: string;
  /** Imperatives and infinitives. A form after `^` counts only at the start of the sentence. */
  readonly asks?: string;
}

const VERBS: readonly Verb[] = [
  {
    english: 'sent',
    forms:
      'gesendet verschickt geschickt envoyé enviado inviato spedito verstuurd gestuurd skickat sendt verzonden | enviei envié wysłałem wysłałam gönderdim yolladım',
    russian: 'отправил отправила отправили выслал выслала',
    dense: '送信 送付 发送 发出',
    asks: 'schicke sende schick verschicke schicken senden envoie envoyez envoyer envía enviar envíe envie invia inviare invii stuur sturen verstuur wyślij wysłać отправь отправить отправьте 发送 送って',
  },
  {
    english: 'cancelled',
    forms:
      'storniert abgesagt gekündigt annulé cancelado anulado cancellato annullato disdetto geannuleerd avbokat avbestilt annulleret kansellert | cancelei cancelé anulowałem anulowałam',
    russian: 'отменил отменила отменили',
    dense: 'キャンセル 取消',
    asks: 'storniere stornieren kündige kündigen annule annulez annuler cancela cancelar cancele anula anular annulla annullare annulleer annuleren anuluj anulować отмени отменить отмените 取消 キャンセルして',
  },
  {
    english: 'deleted',
    forms:
      'gelöscht entfernt supprimé effacé eliminado borrado cancellato eliminato verwijderd apagado raderat slettet | eliminei apaguei eliminé borré usunąłem usunęłam sildim usunąłem',
    russian: 'удалил удалила удалили',
    dense: '削除 删除',
    asks: 'lösche löschen entferne entfernen supprime supprimez supprimer efface effacez elimina eliminar borra borrar eliminare verwijder verwijderen usuń usunąć apague apagar удали удалить удалите 删除 削除して',
  },
  {
    english: 'booked',
    forms:
      'gebucht reserviert réservé reservado prenotato geboekt gereserveerd bokat booket | reservei reservé zarezerwowałem zarezerwowałam',
    russian: 'забронировал забронировала',
    dense: '予約 预订 预约',
    asks: 'buche buchen reserviere reservieren réserve réservez réserver ^reserva reservar ^reserve prenota prenotare ^boek boeken zarezerwuj zarezerwować забронируй забронировать 预订 予約して',
  },
  {
    english: 'paid',
    forms:
      'bezahlt überwiesen payé versé pagado pagato betaald pago betalat betalt | paguei pagué zapłaciłem zapłaciłam ödedim',
    russian: 'оплатил оплатила',
    dense: '支払 支付 付款',
    asks: 'bezahle bezahlen zahle überweise überweisen paie payez payer paga pagar pague pagare betaal betalen zapłać zapłacić оплати оплатить 支付 支払って',
  },
  {
    english: 'refunded',
    forms:
      'erstattet zurückerstattet remboursé reembolsado rimborsato terugbetaald återbetalat refundert refunderet | reembolsei reembolsé zwróciłem',
    russian: 'вернул вернула',
    dense: '返金 退款',
    asks: 'erstatte erstatten rembourse remboursez rembourser reembolsa reembolsar rimborsa rimborsare terugbetalen reembolse zwróć верни вернуть 退款 返金して',
  },
  {
    english: 'updated',
    forms:
      'aktualisiert geändert angepasst modifié actualisé actualizado modificado aggiornato modificato bijgewerkt gewijzigd aangepast atualizado uppdaterat oppdatert opdateret ändrat endret ændret | atualizei alterei modifiquei actualicé modifiqué zaktualizowałem güncelledim değiştirdim zmieniłem zmieniłam',
    russian: 'обновил обновила изменил изменила',
    dense: '更新 変更 修改',
    asks: 'aktualisiere aktualisieren ändere ändern modifie modifiez actualiza actualizar ^modifica modificar aggiorna aggiornare modificare wijzig wijzigen atualize atualizar zaktualizuj обнови обновить 更新',
  },
  {
    english: 'created',
    forms:
      'erstellt angelegt créé creado creato aangemaakt gemaakt criado skapat opprettet oprettet | criei creé utworzyłem utworzyłam oluşturdum',
    russian: 'создал создала оформил оформила',
    dense: '作成 创建',
    asks: 'erstelle erstellen lege créez créer crea crear creare cree crie criar maak aanmaken utwórz utworzyć создай создать 创建 作成して',
  },
  {
    english: 'added',
    forms:
      'hinzugefügt eingetragen ajouté añadido agregado aggiunto toegevoegd adicionado tillagt tilføjet | adicionei añadí dodałem dodałam ekledim',
    russian: 'добавил добавила',
    dense: '追加 添加',
    asks: 'füge hinzufügen ajoute ajoutez ajouter añade añadir agrega agregar aggiungi aggiungere voeg toevoegen adicione adicionar dodaj dodać добавь добавить 添加 追加して',
  },
  {
    english: 'deployed',
    forms: 'ausgerollt deployt déployé desplegado distribuito uitgerold implantado | implantei desplegué wdrożyłem',
    asks: 'deploye deployen ausrollen déploie déployez déployer despliega desplegar distribuisci implante implantar wdróż',
  },
  {
    english: 'published',
    forms:
      'veröffentlicht publié publicado pubblicato gepubliceerd publicerat publisert | publiquei publiqué opublikowałem yayınladım',
    russian: 'опубликовал опубликовала',
    dense: '公開 发布',
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
    russian: 'перезапустил перезапустила',
    dense: '再起動 重启',
    asks: 'neustarten redémarre redémarrez redémarrer reinicia reiniciar riavvia riavviare herstarten reinicie перезапусти 重启 再起動して',
  },
  {
    english: 'ordered',
    forms:
      'bestellt commandé pedido ordinato besteld encomendado beställt bestilt | encomendei pedí zamówiłem zamówiłam',
    russian: 'заказал заказала',
    dense: '注文 订购 下单',
    asks: 'bestelle bestell bestellen commandez commander ^commande pide pedir pida encarga encargar ordena ordenar ordina ordinare ordini bestel encomende encomendar zamów zamówić закажи закажите заказать 订购 下单 注文して',
  },
  {
    english: 'transferred',
    forms:
      'übertragen verschoben verlegt transféré déplacé viré transferido movido trasferito spostato overgeplaatst verplaatst overgemaakt överfört flyttat overført flyttet | transferi transferí moví przeniosłem przeniosłam przelałem przelałam taşıdım aktardım',
    russian: 'перевёл перевел перевела переместил переместила',
    dense: '移動 転送 转移 转账',
    asks: 'übertrage übertragen verschiebe verschieben transfère transférez transférer déplace déplacez transfiere transferir mueve trasferisci trasferire sposta verplaats verplaatsen overboeken przenieś przenieść przelej flytta overfør переведи перевести перемести 转移 移動して',
  },
  {
    english: 'submitted',
    forms:
      'eingereicht beantragt gestellt soumis déposé demandé présenté presentado solicitado presentato richiesto ingediend aangevraagd apresentado lämnat ansökt sendt | solicitei solicité pedi apresentei złożyłem złożyłam',
    russian: 'подал подала',
    dense: '申請 提出 提交 申请',
    asks: 'beantrage beantragen einreichen soumets soumettez soumettre solicita solicitar presenta presentar richiedi richiedere dien aanvragen złóż złożyć подай подать 提交 申请 申請して',
  },
  {
    english: 'recorded',
    forms:
      'erfasst verbucht registriert enregistré registrado registrato geregistreerd registrerat registrert | registrei registré zarejestrowałem zarejestrowałam kaydettim',
    russian: 'зарегистрировал зарегистрировала записал записала',
    dense: '登録 登记 记录',
  },
  {
    english: 'purchased',
    forms: 'gekauft acheté comprado comprato gekocht köpt kjøpt købt | comprei compré kupiłem kupiłam',
    russian: 'купил купила',
    dense: '購入 购买',
    asks: 'kaufe kaufen achète achetez acheter compra comprar compre comprare koop kopen kup kupić купи купить 购买 購入して',
  },
  {
    english: 'issued',
    forms: 'ausgestellt émis emitido emesso uitgegeven utfärdat utstedt | emiti emití wystawiłem wystawiłam',
    russian: 'выписал выписала выставил выставила',
    dense: '発行 开具',
  },
  {
    english: 'closed',
    forms:
      'geschlossen fermé clôturé cerrado chiuso gesloten afgesloten fechado stängt lukket | fechei encerrei cerré zamknąłem zamknęłam kapattım',
    russian: 'закрыл закрыла',
    dense: '关闭',
    asks: 'schließe schließen ferme fermez fermer clôture cierra cerrar chiudi chiudere sluit sluiten feche fechar zamknij zamknąć закрой закрыть 关闭',
  },
  {
    english: 'notified',
    forms:
      'benachrichtigt informiert prévenu notifié avisado notificado avvisato notificato verwittigd meddelat varslet | avisei notifiquei avisé notifiqué powiadomiłem powiadomiłam bildirdim',
    russian: 'уведомил уведомила',
  },
  { english: 'reserved', forms: 'reserviert réservé reservado riservato gereserveerd | reservei reservé' },
];

/** The auxiliaries of the first person, with up to eight words up to the participle. */
const AUXILIARY =
  /(?:\b(?:ich habe|wir haben|hab(?:e)? ich|j['’]ai|je l['’]ai|je les ai|nous avons|la he|lo he|las he|los he|he|hemos|ho|abbiamo|l['’]ho|ik heb|heb ik|we hebben|tenho|jag har|har jag|jeg har|har jeg|vi har)\b)(?<rest>(?:[^.!?\n]|(?<=\d)\.)*)/giu;
const NEGATED =
  /\b(?:nicht|nichts|kein\w*|nie|pas|rien|aucun\w*|jamais|no|ningún\w*|nada|nunca|non|nulla|niente|nessun\w*|mai|niet|niets|geen|nooit|não|nenhum\w*|nie|inte|ikke|ej)\b/iu;

/** A denial right before the verb. */
const DENIED = /(?<!\p{L})(?:no|non|não|nie|n['’])\s*$/iu;

/** The English verb of each form. A form of several verbs stands for the first of them. */
function indexed(formsOf: (verb: Verb) => string | undefined): ReadonlyMap<string, string> {
  const index = new Map<string, string>();
  for (const verb of VERBS)
    for (const form of formsOf(verb)?.match(/\S+/g) ?? []) if (!index.has(form)) index.set(form, verb.english);
  return index;
}

const PARTICIPLES = indexed(({ forms }) => forms.split('|')[0]);
const PASTS = indexed(({ forms }) => forms.split('|')[1]);
const RUSSIAN = indexed(({ russian }) => russian);
const NOUNS = indexed(({ dense }) => dense);
const ASKED = indexed(({ asks }) => asks);

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
    if (NEGATED.test(rest) || DENIED.test(sentence.slice(0, match.index))) continue;
    for (const word of words(rest))
      if (PARTICIPLES.has(word)) found.push({ word: PARTICIPLES.get(word) ?? '', what: rest });
  }
  if (!NEGATED.test(sentence))
    for (const word of words(sentence))
      if (PASTS.has(word)) found.push({ word: PASTS.get(word) ?? '', what: sentence });
  return [
    ...found,
    ...russianClaimsIn(sentence),
    ...turkishClaimsIn(sentence),
    ...denseClaimsIn(sentence),
    ...borrowedClaimsIn(sentence),
    ...furtherClaimsIn(sentence),
  ];
}

/** A noun from English with `I did`: `fiz o push`, `ich habe einen Rollback gemacht`. */
const BORROWED: { readonly [noun: string]: string } = {
  push: 'pushed',
  deploy: 'deployed',
  deployment: 'deployed',
  merge: 'merged',
  release: 'released',
  upload: 'uploaded',
  restart: 'restarted',
  reset: 'reset',
};
const DID =
  /(?<!\p{L})(?:fiz|fizemos|hice|hicimos|he hecho|hemos hecho|ho fatto|abbiamo fatto|j['’]ai fait|nous avons fait|ik heb|ich habe|wir haben|zrobiłem|zrobiłam)(?<rest>[^.!?,;\n]*)/iu;

function borrowedClaimsIn(sentence: string): readonly ForeignClaim[] {
  const did = DID.exec(sentence);
  const rest = did?.groups?.['rest'] ?? '';
  if (did === null || NEGATED.test(rest) || DENIED.test(sentence.slice(0, did.index))) return [];
  return words(rest).flatMap((word) =>
    Object.hasOwn(BORROWED, word) ? [{ word: BORROWED[word] ?? '', what: sentence }] : [],
  );
}

/** A past of Russian has no person of its own. */
function russianClaimsIn(sentence: string): readonly ForeignClaim[] {
  const all = words(sentence);
  if (!all.some((word) => word === 'я' || word === 'мы') || all.includes('не')) return [];
  return all.flatMap((word) => (RUSSIAN.has(word) ? [{ word: RUSSIAN.get(word) ?? '', what: sentence }] : []));
}

/** A noun with `I did`: `iptal ettim`. */
const TURKISH: { readonly [noun: string]: string } = {
  iptal: 'cancelled',
  iade: 'refunded',
  rezerve: 'booked',
  rezervasyon: 'booked',
  sipariş: 'ordered',
  havale: 'transferred',
  talep: 'submitted',
};
const TURKISH_DID = /(?<![\p{L}])(?<noun>\p{L}+)\s+(?:ettim|ettik|yaptım|yaptık|verdim|verdik)(?![\p{L}])/giu;

function turkishClaimsIn(sentence: string): readonly ForeignClaim[] {
  return [...sentence.matchAll(TURKISH_DID)].flatMap(({ groups }) => {
    const noun = (groups?.['noun'] ?? '').toLocaleLowerCase('tr').replace(/[ıiuü]$/, '');
    return Object.hasOwn(TURKISH, noun) ? [{ word: TURKISH[noun] ?? '', what: sentence }] : [];
  });
}

/** Claims such as `予約しました`, `已为您取消` and `我已经发送了`. A record such as `订单已取消` does not say who acted, so it is not a claim. */
const DENSE_DID = [...NOUNS.keys()].join('|');
const JAPANESE = new RegExp(`(?<noun>${DENSE_DID})(?:を|は)?(?:完了)?(?:いた)?しました`, 'gu');
const CHINESE = new RegExp(
  `(?:我|我们|已(?:经)?[为帮替](?:您|你))[^。！？，,;；\\n未没不]{0,16}?(?<noun>${DENSE_DID})`,
  'gu',
);

function denseClaimsIn(sentence: string): readonly ForeignClaim[] {
  return [JAPANESE, CHINESE].flatMap((pattern) =>
    [...sentence.matchAll(pattern)].map(({ groups }) => ({
      word: NOUNS.get(groups?.['noun'] ?? '') ?? '',
      what: sentence,
    })),
  );
}

function words(text: string): readonly string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? [];
}
