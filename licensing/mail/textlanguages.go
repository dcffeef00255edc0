package mail

// germanTexts has the texts of mails and of the sign-in in German.
var germanTexts = Texts{
	Lang:          "de",
	KeySubject:    "Ihr Lizenzschlüssel für {product}",
	KeyText:       "Guten Tag {name},\n\ndies ist Ihr Lizenzschlüssel für {product}:\n\n    {key}\n\nBewahren Sie ihn auf: {product} fragt danach, wenn Sie das Programm neu installieren.\n",
	PagesText:     "\nIhre Lizenzen, Geräte und Lizenzdateien: {url}\n",
	Signature:     "\n{shop}\n",
	LinkSubject:   "Anmeldung bei Ihren Lizenzen",
	LinkText:      "Öffnen Sie diesen Link innerhalb von {minutes} Minuten, um Ihre Lizenzen zu sehen:\n\n{url}\n\nEr funktioniert nur einmal. Wenn Sie ihn nicht angefordert haben, müssen Sie nichts tun.\n",
	ChangeSubject: "Ihre E-Mail-Adresse wurde geändert",
	ChangeText:    "Unser Support hat die E-Mail-Adresse Ihrer Lizenzen von {former} in {address} geändert. Schlüssel und Links zu Ihren Lizenzen gehen von nun an an die neue Adresse.\n\nWenn Sie nicht darum gebeten haben, melden Sie sich bitte sofort bei uns.\n",

	Title: "Ihre Lizenzen", Email: "Ihre E-Mail-Adresse", Ask: "Link senden",
	Sent:    "Wenn es für diese Adresse eine Lizenz gibt, ist ein Link zu Ihnen unterwegs. Er gilt {minutes} Minuten. Nach fünf Minuten können Sie einen weiteren anfordern.",
	TooMany: "Aus Ihrem Netzwerk wurden zu viele Links angefordert. Versuchen Sie es in einer Minute noch einmal.",
	Token:   "Der Teil des Links nach dem Zeichen #", SignIn: "Anmelden",
	Gone:   "Dieser Link wurde schon verwendet, ist abgelaufen oder unvollständig. Fordern Sie einen neuen an.",
	Again:  "Link anfordern",
	Failed: "Der Dienst ist gerade nicht erreichbar. Versuchen Sie es in einer Minute noch einmal.",
}

// frenchTexts has the texts of mails and of the sign-in in French.
var frenchTexts = Texts{
	Lang:          "fr",
	KeySubject:    "Votre clé de licence pour {product}",
	KeyText:       "Bonjour {name},\n\nvoici votre clé de licence pour {product}\u00a0:\n\n    {key}\n\nConservez-la\u00a0: {product} vous la demandera lors d’une nouvelle installation.\n",
	PagesText:     "\nVos licences, appareils et fichiers de licence\u00a0: {url}\n",
	Signature:     "\n{shop}\n",
	LinkSubject:   "Connexion à vos licences",
	LinkText:      "Ouvrez ce lien dans les {minutes} minutes pour voir vos licences\u00a0:\n\n{url}\n\nIl ne fonctionne qu’une fois. Si vous ne l’avez pas demandé, vous n’avez rien à faire.\n",
	ChangeSubject: "Votre adresse e-mail a été modifiée",
	ChangeText:    "Notre assistance a remplacé l’adresse e-mail de vos licences, {former}, par {address}. Les clés et les liens vers vos licences sont désormais envoyés à la nouvelle adresse.\n\nSi vous ne l’avez pas demandé, prévenez-nous immédiatement.\n",

	Title: "Vos licences", Email: "Votre adresse e-mail", Ask: "Envoyer un lien",
	Sent:    "Si une licence est associée à cette adresse, un lien vous a été envoyé. Il est valable {minutes} minutes. Vous pourrez en demander un autre après cinq minutes.",
	TooMany: "Trop de liens ont été demandés depuis votre réseau. Réessayez dans une minute.",
	Token:   "La partie du lien qui suit le signe #", SignIn: "Se connecter",
	Gone:   "Ce lien a déjà été utilisé, a expiré ou est incomplet. Demandez-en un autre.",
	Again:  "Demander un lien",
	Failed: "Le service ne peut pas répondre pour le moment. Réessayez dans une minute.",
}
