/** The certificate that a server shows, and how long certificates are still valid. */
import { connect } from "node:tls";
import { type Finding, failure, ok, warning } from "./finding.ts";

export interface Certificate {
  readonly subject: string;
  readonly issuer: string;
  /** RFC 3339. */
  readonly notAfter: string;
}

const timeoutMs = 5000;
const dayMs = 86_400_000;
/** Servers renew their own certificates a month before they expire. */
const warnDays = 14;

/** Not verified: an expired certificate is what the caller wants to see. */
export function servedCertificate({ hostname, port }: URL): Promise<Certificate> {
  const host = hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false });
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error(`${host} sends no certificate`)));
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      const { subject, issuer, valid_to: until } = socket.getPeerCertificate();
      socket.end();
      resolve({
        subject: String(subject?.CN ?? ""),
        issuer: String(issuer?.CN ?? ""),
        notAfter: new Date(until).toISOString(),
      });
    });
  });
}

export function certificateFinding(
  check: string,
  { subject, notAfter }: Pick<Certificate, "subject" | "notAfter">,
  nowMs: number,
): Finding {
  const days = Math.floor((Date.parse(notAfter) - nowMs) / dayMs);
  const until = `${subject === "" ? "" : `${subject} `}valid until ${notAfter}`;
  if (days < 0)
    return failure(
      check,
      `expired: ${until}`,
      "restart the server, which renews its own certificate; replace a certificate of --tls-cert-file",
    );
  if (days < warnDays)
    return warning(
      check,
      `${until}, ${days} days`,
      "look for a failed renewal in the server's log; replace a certificate of --tls-cert-file",
    );
  return ok(check, `${until}, ${days} days`);
}
