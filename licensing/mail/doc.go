// Package mail mails license keys to customers ([Keys]) and signs in customers who have no
// account, by links that they get by mail ([SignIn]). A [Server] sends by SMTP; a program
// that sends in another way has a function for it.
//
//	server := mail.Server{Addr: "smtp.example.com:587", From: "keys@vendor.example", Password: password}
//	subscriber := mail.Keys{Licenses: func() *license.Service { return h.Service() }, Send: server.Send}.Subscriber()
//
// The address of a customer is that in the metadata of a license, under Options.EmailKey.
// A visitor who claims a license with its key (Options.ClaimFrom) has its address in it
// afterwards. These rules say what an address proves:
//
//  1. An identity is an address, and the proof of it is a link that was mailed there.
//  2. An address opens the licenses whose own metadata has it, at the time of each request,
//     and no other license of the same customers. So anyone who may write the metadata of a
//     license (an operator, an API client, a payment) opens that license and no other, and
//     a client that is limited to a product opens no license of another product.
//  3. A correction of the address, a transfer, a deletion and an erasure take effect at
//     the next request, without the end of a session.
//  4. A link ends after 15 minutes and when it was used. Opening it does nothing: the
//     customer presses a button, because programs that check mail open links and run
//     scripts, too.
//  5. A session ends after 24 hours, and when the customer signs out.
//  6. The store has a digest of each link and session, and the address only encrypted
//     with the link or the cookie. A copy of the store opens nothing and names no one.
//  7. The page that the customer came from is kept in a cookie of the browser and not in the
//     mail, because anyone can ask for a mail to another person.
//  8. The answer to a request for a link does not depend on the address, in text or time.
//  9. An address gets a link at most every 5 minutes, beside those that an operator mails. As
//     links live longer than that, asking for links to an address keeps no one out.
//  10. A network may ask ten times a minute. There is no number for all networks together:
//     the requests wait in a queue, and if it is full, each address gets the answer 503.
package mail
