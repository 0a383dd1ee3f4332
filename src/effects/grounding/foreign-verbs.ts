/**
 * Claims of actions in German, French, Spanish, Italian, Portuguese, Dutch and Polish: a first person in a past tense, with a
 * verb of the table. Each verb is reported under its English stem, so that the tools' own words decide as for English.
 */
interface Verb {
  readonly english: string;
  /** Past forms, as they follow `ich habe`, `j'ai`, `he`, `ho`, `ik heb`; simple pasts of the first person behind a bar. */
  readonly forms: string;
}

const VERBS: readonly Verb[] = [
  {
    english: 'sent',
    forms:
      'gesendet verschickt geschickt envoyé enviado inviato spedito verstuurd gestuurd | enviei envié wysłałem wysłałam',
  },
  {
    english: 'cancelled',
    forms:
      'storniert abgesagt gekündigt annulé cancelado anulado cancellato annullato geannuleerd | cancelei cancelé anulowałem anulowałam',
  },
  {
    english: 'deleted',
    forms:
      'gelöscht entfernt supprimé effacé eliminado borrado cancellato eliminato verwijderd apagado | eliminei apaguei eliminé borré usunąłem usunęłam',
  },
  {
    english: 'booked',
    forms:
      'gebucht reserviert réservé reservado prenotato geboekt gereserveerd | reservei reservé zarezerwowałem zarezerwowałam',
  },
  {
    english: 'paid',
    forms: 'bezahlt überwiesen payé versé pagado pagato betaald pago | paguei pagué zapłaciłem zapłaciłam',
  },
  {
    english: 'refunded',
    forms: 'erstattet zurückerstattet remboursé reembolsado rimborsato terugbetaald | reembolsei reembolsé zwróciłem',
  },
  {
    english: 'updated',
    forms:
      'aktualisiert geändert angepasst modifié actualisé actualizado modificado aggiornato modificato bijgewerkt gewijzigd aangepast atualizado | atualizei alterei modifiquei actualicé modifiqué zaktualizowałem',
  },
  {
    english: 'created',
    forms: 'erstellt angelegt créé creado creato aangemaakt gemaakt criado | criei creé utworzyłem utworzyłam',
  },
  {
    english: 'added',
    forms:
      'hinzugefügt eingetragen ajouté añadido agregado aggiunto toegevoegd adicionado | adicionei añadí dodałem dodałam',
  },
  {
    english: 'deployed',
    forms: 'ausgerollt deployt déployé desplegado distribuito uitgerold implantado | implantei desplegué wdrożyłem',
  },
  {
    english: 'published',
    forms: 'veröffentlicht publié publicado pubblicato gepubliceerd | publiquei publiqué opublikowałem',
  },
  { english: 'merged', forms: 'gemergt zusammengeführt fusionné fusionado unito samengevoegd | fusionei fusioné' },
  { english: 'restarted', forms: 'neugestartet redémarré reiniciado riavviato herstart | reiniciei reinicié' },
  {
    english: 'ordered',
    forms: 'bestellt commandé pedido ordinato besteld encomendado | encomendei pedí zamówiłem zamówiłam',
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
