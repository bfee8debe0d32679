/**
 * A request whose body is YAML, or says that it is: what it says as JSON is found out when the last byte is there and before anybody takes a seat for it. Waiting
 * for the thread that reads it keeps nobody from beginning.
 */
import { isUtf8 } from "node:buffer";
import { statusError } from "@kcp-ts/machinery/status";
import type { ApiRequest } from "../request/api-request.ts";
import { applyPatchType } from "../request/media-types.ts";
import { WrappedRequest } from "../request/wrapped-request.ts";
import { type TranslatedYaml, translateYaml } from "./translate-yaml.ts";
import { yamlThread } from "./yaml-thread.ts";

export interface YamlRequestOptions {
  readonly mediaType: string;
  /** With whom it takes turns: a logical cluster. */
  readonly turnOf: string;
  readonly sender: {
    readonly signal: AbortSignal;
    noteYaml(translated: TranslatedYaml): void;
  };
}

export class YamlRequest extends WrappedRequest {
  readonly #options: YamlRequestOptions;

  constructor(inner: ApiRequest, options: YamlRequestOptions) {
    super(inner);
    this.#options = options;
  }

  /** The bytes as they came; the JSON counts as well for whoever counts. */
  override async readBody(bytesMax: number, onPart?: (bytes: number) => void): Promise<Uint8Array> {
    const { mediaType, sender } = this.#options;
    const bytes = await super.readBody(bytesMax, onPart);
    if (mediaType === applyPatchType && isJsonLike(bytes)) return bytes;
    const translated = await this.#translate(bytes);
    if ("json" in translated) onPart?.(translated.json.length);
    sender.noteYaml(translated);
    return bytes;
  }

  #translate(bytes: Uint8Array): TranslatedYaml | Promise<TranslatedYaml> {
    if (!isUtf8(bytes)) throw statusError.badRequest("the body of the request is not valid UTF-8");
    const { turnOf, sender } = this.#options;
    return isShortYaml(bytes)
      ? translateYaml(Buffer.from(bytes).toString("utf8"))
      : yamlThread.translate(turnOf, bytes, sender.signal);
  }
}

export function isYamlType(mediaType: string): boolean {
  return mediaType.endsWith("yaml");
}

/** Read in one or two milliseconds, whatever it is. Without anchors nothing in it can stand for more than is there. */
export function isShortYaml(bytes: Uint8Array): boolean {
  return bytes.length <= shortYamlBytes && !bytes.includes(anchor);
}

export const shortYamlBytes = 2 << 10;
const anchor = "&".charCodeAt(0);

/** Configurations are sent as YAML and are JSON nearly always, which is read an order of magnitude faster. Nothing at all is an object with nothing in it. */
export function isJsonLike(bytes: Uint8Array): boolean {
  const first = bytes.find((byte) => !spaces.includes(byte));
  return first === undefined || first === openingBrace;
}

const spaces = [..." \t\n\v\f\r"].map((space) => space.charCodeAt(0));
const openingBrace = "{".charCodeAt(0);
