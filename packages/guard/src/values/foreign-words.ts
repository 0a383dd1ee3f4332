/**
 * Verbs and nouns of actions in languages other than English. Each row is reported under its English past form, so that the
 * tools' own words decide as for English.
 */
interface Words {
  /**
   * German, French, Spanish, Italian, Portuguese, Dutch, Polish, Swedish, Norwegian, Danish and Turkish: participles, as they
   * follow `ich habe`, `j'ai`, `he`, `ho`, `ik heb`; simple pasts of the first person after a bar.
   */
  readonly western?: string;
  /** Pasts, which need `я` or `мы` beside them. */
  readonly ru?: string;
  /** Nouns of actions in Japanese and Chinese. */
  readonly dense?: string;
  /** First persons of the past. */
  readonly hu?: string;
  readonly fi?: string;
  /** Participles of the past, without the ending for women and for several. */
  readonly cs?: string;
  /** Nouns of actions that are done with `하다`; whole stems of the past after a bar. */
  readonly ko?: string;
  /** Nouns of actions; first persons of the past after a bar. */
  readonly ar?: string;
  /** Nouns before `I did`: `iptal ettim`. */
  readonly tr?: string;
  /** Nouns from English with `I did`: `fiz o push`, `ich habe einen Rollback gemacht`. */
  readonly borrowed?: string;
  /** Nouns that name the action in a sentence without an actor: `Bestellung aufgegeben.` */
  readonly nouns?: string;
  /** Imperatives and infinitives. A form after `^` counts only at the start of the sentence. */
  readonly asks?: string;
}

export type Column = keyof Words;

const VERBS: { readonly [english: string]: Words } = {
  sent: {
    western:
      'gesendet verschickt geschickt envoyé enviado inviato spedito verstuurd gestuurd skickat sendt verzonden | enviei envié wysłałem wysłałam gönderdim yolladım',
    ru: 'отправил отправила отправили выслал выслала',
    dense: '送信 送付 发送 发出',
    hu: 'küldtem elküldtem kiküldtem továbbítottam',
    fi: 'lähetin toimitin välitin',
    cs: 'odeslal poslal zaslal',
    ko: '발송 전송 송부 | 보냈 보내\\s?드렸',
    ar: 'إرسال ارسال | أرسلت ارسلت بعثت',
    nouns: 'nachricht courriel correo messaggio bericht wiadomość письмо сообщение',
    asks: 'schicke sende schick verschicke schicken senden envoie envoyez envoyer envía enviar envíe envie invia inviare invii stuur sturen verstuur wyślij wysłać отправь отправить отправьте 发送 送って',
  },
  cancelled: {
    western:
      'storniert abgesagt gekündigt annulé cancelado anulado cancellato annullato disdetto geannuleerd avbokat avbestilt annulleret kansellert | cancelei cancelé anulowałem anulowałam',
    ru: 'отменил отменила отменили',
    dense: 'キャンセル 取消',
    hu: 'lemondtam visszavontam sztornóztam stornóztam',
    fi: 'peruin peruutin perutin',
    cs: 'zrušil stornoval',
    ko: '취소',
    ar: 'إلغاء الغاء | ألغيت الغيت',
    nouns:
      'stornierung kündigung annulation cancelación anulación cancellazione annullamento cancelamento annulering anulowanie отмена',
    tr: 'iptal',
    asks: 'storniere stornieren kündige kündigen annule annulez annuler cancela cancelar cancele anula anular annulla annullare annuleer annulleer annuleren anuluj anulować отмени отменить отмените 取消 キャンセルして',
  },
  deleted: {
    western:
      'gelöscht entfernt supprimé effacé eliminado borrado cancellato eliminato verwijderd apagado raderat slettet | eliminei apaguei eliminé borré usunąłem usunęłam sildim usunąłem',
    ru: 'удалил удалила удалили',
    dense: '削除 删除',
    hu: 'töröltem kitöröltem eltávolítottam',
    fi: 'poistin',
    cs: 'smazal odstranil vymazal',
    ko: '삭제 제거 | 지웠',
    ar: 'حذف إزالة | حذفت أزلت',
    asks: 'lösche löschen entferne entfernen supprime supprimez supprimer efface effacez elimina eliminar borra borrar eliminare verwijder verwijderen usuń usunąć apague apagar удали удалить удалите 删除 削除して',
  },
  booked: {
    western:
      'gebucht reserviert réservé reservado prenotato geboekt gereserveerd bokat booket | reservei reservé zarezerwowałem zarezerwowałam',
    ru: 'забронировал забронировала',
    dense: '予約 预订 预约',
    hu: 'foglaltam lefoglaltam',
    fi: 'varasin',
    cs: 'rezervoval zarezervoval zamluvil objednal',
    ko: '예약 예매',
    ar: 'حجز | حجزت',
    nouns: 'buchung réservation reserva prenotazione boeking reservering rezerwacja бронирование',
    tr: 'rezerve rezervasyon',
    asks: 'buche buchen reserviere reservieren réserve réservez réserver ^reserva reservar ^reserve prenota prenotare ^boek boeken zarezerwuj zarezerwować забронируй забронировать 预订 予約して',
  },
  paid: {
    western:
      'bezahlt überwiesen payé versé pagado pagato betaald pago betalat betalt | paguei pagué zapłaciłem zapłaciłam ödedim',
    ru: 'оплатил оплатила',
    dense: '支払 支付 付款',
    hu: 'fizettem kifizettem befizettem',
    fi: 'maksoin',
    cs: 'zaplatil uhradil',
    ko: '결제 지불 납부',
    ar: 'دفع سداد | دفعت سددت',
    nouns: 'zahlung paiement pago pagamento betaling płatność платёж платеж',
    asks: 'bezahle bezahlen zahle überweise überweisen paie payez payer paga pagar pague pagare betaal betalen zapłać zapłacić оплати оплатить 支付 支払って',
  },
  refunded: {
    western:
      'erstattet zurückerstattet remboursé reembolsado rimborsato terugbetaald återbetalat refundert refunderet | reembolsei reembolsé zwróciłem',
    ru: 'вернул вернула',
    dense: '返金 退款',
    hu: 'visszatérítettem visszafizettem',
    fi: 'hyvitin palautin',
    cs: 'refundoval vrátil',
    ko: '환불',
    ar: 'استرداد | أعدت رددت',
    nouns: 'erstattung rückerstattung remboursement reembolso rimborso terugbetaling zwrot возврат',
    tr: 'iade',
    asks: 'erstatte erstatten rembourse remboursez rembourser reembolsa reembolsar rimborsa rimborsare terugbetalen reembolse zwróć верни вернуть 退款 返金して',
  },
  updated: {
    western:
      'aktualisiert geändert angepasst modifié actualisé actualizado modificado aggiornato modificato bijgewerkt gewijzigd aangepast atualizado uppdaterat oppdatert opdateret ändrat endret ændret | atualizei alterei modifiquei actualicé modifiqué zaktualizowałem güncelledim değiştirdim zmieniłem zmieniłam',
    ru: 'обновил обновила изменил изменила',
    dense: '更新 変更 修改',
    hu: 'frissítettem módosítottam megváltoztattam átírtam',
    fi: 'päivitin muutin vaihdoin muokkasin',
    cs: 'aktualizoval změnil upravil',
    ko: '업데이트 변경 수정 갱신 | 바꿨 고쳤',
    ar: 'تحديث تعديل تغيير | حدثت عدلت غيرت',
    asks: 'aktualisiere aktualisieren ändere ändern modifie modifiez actualiza actualizar ^modifica modificar aggiorna aggiornare modificare wijzig wijzigen atualize atualizar zaktualizuj обнови обновить 更新',
  },
  created: {
    western:
      'erstellt angelegt créé creado creato aangemaakt gemaakt criado skapat opprettet oprettet | criei creé utworzyłem utworzyłam oluşturdum',
    ru: 'создал создала оформил оформила',
    dense: '作成 创建',
    hu: 'létrehoztam',
    fi: 'loin',
    cs: 'vytvořil založil',
    ko: '생성 작성 | 만들었',
    ar: 'إنشاء انشاء | أنشأت',
    asks: 'erstelle erstellen lege créez créer crea crear creare cree crie criar maak aanmaken utwórz utworzyć создай создать 创建 作成して',
  },
  added: {
    western:
      'hinzugefügt eingetragen ajouté añadido agregado aggiunto toegevoegd adicionado tillagt tilføjet | adicionei añadí dodałem dodałam ekledim',
    ru: 'добавил добавила',
    dense: '追加 添加',
    hu: 'hozzáadtam felvettem',
    fi: 'lisäsin',
    cs: 'přidal doplnil',
    ko: '추가 | 넣었',
    ar: 'إضافة اضافة | أضفت',
    asks: 'füge hinzufügen ajoute ajoutez ajouter añade añadir agrega agregar aggiungi aggiungere voeg toevoegen adicione adicionar dodaj dodać добавь добавить 添加 追加して',
  },
  deployed: {
    western: 'ausgerollt deployt déployé desplegado distribuito uitgerold implantado | implantei desplegué wdrożyłem',
    hu: 'telepítettem élesítettem',
    fi: 'asensin',
    cs: 'nasadil',
    ko: '배포',
    ar: 'نشر | نشرت',
    nouns: 'deployment déploiement despliegue distribuzione implantação wdrożenie',
    borrowed: 'deploy deployment',
    asks: 'deploye deployen ausrollen déploie déployez déployer despliega desplegar distribuisci implante implantar wdróż',
  },
  published: {
    western:
      'veröffentlicht publié publicado pubblicato gepubliceerd publicerat publisert | publiquei publiqué opublikowałem yayınladım',
    ru: 'опубликовал опубликовала',
    dense: '公開 发布',
    hu: 'közzétettem publikáltam',
    fi: 'julkaisin',
    cs: 'publikoval zveřejnil',
    ko: '게시 공개',
    asks: 'veröffentliche veröffentlichen publie publiez publier ^publica publicar pubblica pubblicare publiceer publiceren publique opublikuj опубликуй',
  },
  merged: {
    western: 'gemergt zusammengeführt fusionné fusionado unito samengevoegd | fusionei fusioné',
    hu: 'egyesítettem',
    fi: 'yhdistin',
    cs: 'sloučil',
    ko: '병합',
    ar: 'دمج | دمجت',
    borrowed: 'merge',
    asks: 'merge mergen zusammenführen fusionne fusionnez fusionner fusiona fusionar unisci',
  },
  restarted: {
    western: 'neugestartet redémarré reiniciado riavviato herstart | reiniciei reinicié',
    ru: 'перезапустил перезапустила',
    dense: '再起動 重启',
    hu: 'újraindítottam',
    fi: 'käynnistin',
    cs: 'restartoval',
    ko: '재시작 재부팅',
    ar: 'إعادة تشغيل',
    borrowed: 'restart',
    asks: 'neustarten redémarre redémarrez redémarrer reinicia reiniciar riavvia riavviare herstarten reinicie перезапусти 重启 再起動して',
  },
  ordered: {
    western:
      'bestellt commandé pedido ordinato besteld encomendado beställt bestilt | encomendei pedí zamówiłem zamówiłam',
    ru: 'заказал заказала',
    dense: '注文 订购 下单',
    hu: 'rendeltem megrendeltem',
    fi: 'tilasin',
    cs: 'objednal',
    ko: '주문 발주',
    ar: 'طلب | طلبت',
    nouns: 'bestellung auftrag commande pedido orden ordine encomenda bestelling zamówienie заказ',
    tr: 'sipariş',
    asks: 'bestelle bestell bestellen commandez commander ^commande pide pedir pida encarga encargar ordena ordenar ordina ordinare ordini bestel encomende encomendar zamów zamówić закажи закажите заказать 订购 下单 注文して',
  },
  transferred: {
    western:
      'übertragen verschoben verlegt transféré déplacé viré transferido movido trasferito spostato overgeplaatst verplaatst overgemaakt överfört flyttat overført flyttet | transferi transferí moví przeniosłem przeniosłam przelałem przelałam taşıdım aktardım',
    ru: 'перевёл перевел перевела переместил переместила',
    dense: '移動 転送 转移 转账',
    hu: 'átutaltam utaltam áthelyeztem átraktam',
    fi: 'siirsin',
    cs: 'převedl přesunul',
    ko: '이체 송금 이동 이전 | 옮겼',
    ar: 'تحويل نقل | حولت نقلت',
    nouns: 'überweisung virement transferencia bonifico transferência overboeking przelew перевод',
    tr: 'havale',
    asks: 'übertrage übertragen verschiebe verschieben transfère transférez transférer déplace déplacez transfiere transferir mueve trasferisci trasferire sposta verplaats verplaatsen overboeken przenieś przenieść przelej flytta overfør переведи перевести перемести 转移 移動して',
  },
  submitted: {
    western:
      'eingereicht beantragt gestellt soumis déposé demandé présenté presentado solicitado presentato richiesto ingediend aangevraagd apresentado lämnat ansökt sendt | solicitei solicité pedi apresentei złożyłem złożyłam',
    ru: 'подал подала',
    dense: '申請 提出 提交 申请',
    hu: 'benyújtottam beadtam igényeltem',
    fi: 'jätin hain',
    cs: 'podal předložil',
    ko: '제출 신청 접수',
    ar: 'تقديم | قدمت',
    tr: 'talep',
    asks: 'beantrage beantragen einreichen soumets soumettez soumettre solicita solicitar presenta presentar richiedi richiedere dien aanvragen złóż złożyć подай подать 提交 申请 申請して',
  },
  recorded: {
    western:
      'erfasst verbucht registriert enregistré registrado registrato geregistreerd registrerat registrert | registrei registré zarejestrowałem zarejestrowałam kaydettim',
    ru: 'зарегистрировал зарегистрировала записал записала',
    dense: '登録 登记 记录',
    hu: 'rögzítettem regisztráltam bejegyeztem',
    fi: 'kirjasin rekisteröin tallensin',
    cs: 'zaznamenal zaregistroval uložil',
    ko: '등록 기록 저장',
    ar: 'تسجيل حفظ | سجلت حفظت',
  },
  purchased: {
    western: 'gekauft acheté comprado comprato gekocht köpt kjøpt købt | comprei compré kupiłem kupiłam',
    ru: 'купил купила',
    dense: '購入 购买',
    hu: 'megvettem vásároltam megvásároltam',
    fi: 'ostin',
    cs: 'koupil zakoupil',
    ko: '구매 구입 | 샀',
    ar: 'شراء | اشتريت',
    asks: 'kaufe kaufen achète achetez acheter compra comprar compre comprare koop kopen kup kupić купи купить 购买 購入して',
  },
  issued: {
    western: 'ausgestellt émis emitido emesso uitgegeven utfärdat utstedt | emiti emití wystawiłem wystawiłam',
    ru: 'выписал выписала выставил выставила',
    dense: '発行 开具',
    hu: 'kiállítottam',
    fi: 'myönsin',
    cs: 'vystavil',
    ko: '발행 발급',
    ar: 'إصدار | أصدرت',
  },
  rolled: {
    hu: 'visszaállítottam',
    fi: 'palautin',
    cs: 'obnovil',
    ko: '롤백 복구',
  },
  closed: {
    western:
      'geschlossen fermé clôturé cerrado chiuso gesloten afgesloten fechado stängt lukket | fechei encerrei cerré zamknąłem zamknęłam kapattım',
    ru: 'закрыл закрыла',
    dense: '关闭',
    hu: 'lezártam bezártam',
    fi: 'suljin',
    cs: 'uzavřel zavřel',
    ko: '종료 | 닫았',
    ar: 'إغلاق | أغلقت',
    asks: 'schließe schließen ferme fermez fermer clôture cierra cerrar chiudi chiudere sluit sluiten feche fechar zamknij zamknąć закрой закрыть 关闭',
  },
  notified: {
    western:
      'benachrichtigt informiert prévenu notifié avisado notificado avvisato notificato verwittigd meddelat varslet | avisei notifiquei avisé notifiqué powiadomiłem powiadomiłam bildirdim',
    ru: 'уведомил уведомила',
    hu: 'értesítettem',
    fi: 'ilmoitin',
    cs: 'upozornil informoval',
    ko: '통보 | 알렸',
    ar: 'إخطار إبلاغ | أبلغت',
  },
  reserved: {
    western: 'reserviert réservé reservado riservato gereserveerd | reservei reservé',
  },
  pushed: { borrowed: 'push' },
  released: { borrowed: 'release' },
  uploaded: { borrowed: 'upload' },
  reset: { borrowed: 'reset' },
};

/** The forms of each verb in a column, in the order of the table. `part` 1 is behind the bar. */
export function formsOf(column: Column, part = 0): readonly (readonly [english: string, forms: readonly string[]])[] {
  return Object.entries(VERBS).map(([english, { [column]: text = '' }]) => [
    english,
    text.split('|')[part]?.match(/\S+/g) ?? [],
  ]);
}
