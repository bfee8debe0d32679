/**
 * Header blocks of SPDY/3: length-prefixed pairs of strings, compressed as one stream for each
 * direction, with a dictionary that both sides know.
 */
import { constants, createDeflate, createInflate, type Deflate, type Inflate } from "node:zlib";

/** The dictionary of the protocol: length-prefixed words, and plain texts. */
const dictionary = Buffer.concat([
  ...(
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow authorization " +
    "cache-control connection content-base content-encoding content-language content-length content-location content-md5 content-range " +
    "content-type date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified " +
    "location max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding " +
    "upgrade user-agent vary via warning www-authenticate method get status"
  )
    .split(" ")
    .concat("200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
    .flatMap(sized),
  Buffer.from(
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative Information" +
      "204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error" +
      "501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 " +
      "Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml," +
      "text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.",
  ),
]);

function sized(text: string): Buffer[] {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return [length, Buffer.from(text)];
}

export class HeaderReader {
  readonly #inflate: Inflate = createInflate({ dictionary });

  async read(block: Buffer): Promise<ReadonlyMap<string, string>> {
    await new Promise<void>((resolve, reject) => {
      this.#inflate.once("error", reject);
      this.#inflate.write(block, () => {
        this.#inflate.off("error", reject);
        resolve();
      });
    });
    const text = (this.#inflate.read() as Buffer | null) ?? Buffer.alloc(4);
    const headers = new Map<string, string>();
    let at = 4;
    const next = () => {
      const length = text.readUInt32BE(at);
      at += 4 + length;
      return text.toString("latin1", at - length, at);
    };
    for (let left = text.readUInt32BE(0); left > 0; left--) headers.set(next(), next());
    return headers;
  }
}

export class HeaderWriter {
  readonly #deflate: Deflate = createDeflate({ dictionary });

  async write(headers: ReadonlyMap<string, string>): Promise<Buffer> {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(headers.size);
    const block = Buffer.concat([count, ...[...headers].flat().flatMap(sized)]);
    this.#deflate.write(block);
    await new Promise<void>((resolve) => {
      this.#deflate.flush(constants.Z_SYNC_FLUSH, () => resolve());
    });
    return (this.#deflate.read() as Buffer | null) ?? Buffer.alloc(0);
  }
}
