/**
 * A KMS v2 plug-in of Kubernetes: a gRPC service (v2.KeyManagementService) on a Unix socket, which
 * wraps data keys by a key that never leaves it. It is called rarely (at a start, once for each
 * data key that is read first, and once a minute for its status), so each call has a connection of
 * its own: a plug-in may be restarted at any time.
 */
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import type { Clock } from "@kcp-ts/machinery/base";
import { Connection, callUnary, type Endpoint, parseUnixEndpoint } from "../grpc/index.ts";
import type { KeyService } from "./key-source.ts";

export interface KmsPluginOptions {
  /** `unix:///path`. */
  readonly endpoint: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** Limits of Kubernetes for what a plug-in returns. */
const keyIdBytesMax = 1024;
const wrappedBytesMax = 1024;
const annotationsBytesMax = 32 << 10;

/**
 * What `encrypt` returns, and `decrypt` gets, are the bytes of the plug-in's EncryptResponse: its
 * ciphertext, the ID of the key, and annotations, all of which the plug-in needs to decrypt.
 */
export class KmsPlugin implements KeyService {
  readonly #options: KmsPluginOptions;
  readonly #endpoint: Endpoint;
  #calls = 0;

  constructor(options: KmsPluginOptions) {
    this.#options = options;
    this.#endpoint = parseUnixEndpoint(options.endpoint);
  }

  async encrypt(plaintext: Uint8Array): Promise<{ readonly ciphertext: Uint8Array }> {
    const request = new BinaryWriter().uint32(tag(1, bytesType)).bytes(plaintext);
    const answer = await this.#call(
      "Encrypt",
      request.uint32(tag(2, bytesType)).string(this.#uid()),
    );
    this.#check(fieldsOf(answer));
    return { ciphertext: answer };
  }

  async decrypt(wrapped: Uint8Array): Promise<Uint8Array> {
    const { ciphertext, keyId, annotations } = wrappedKey(wrapped);
    const request = new BinaryWriter().uint32(tag(1, bytesType)).bytes(ciphertext);
    request.uint32(tag(2, bytesType)).string(this.#uid());
    request.uint32(tag(3, bytesType)).string(keyId);
    for (const entry of annotations) request.uint32(tag(4, bytesType)).bytes(entry);
    const [plaintext = new Uint8Array()] =
      fieldsOf(await this.#call("Decrypt", request)).get(1) ?? [];
    return plaintext;
  }

  keyIdOf(wrapped: Uint8Array): string {
    return wrappedKey(wrapped).keyId;
  }

  async currentKeyId(): Promise<string> {
    const fields = fieldsOf(await this.#call("Status", new BinaryWriter()));
    const [version, healthz, keyId] = [1, 2, 3].map((field) => textOf(fields, field));
    if (version !== "v2" && version !== "v2beta1")
      throw this.#error(`the plug-in has version ${JSON.stringify(version)}, expected v2`);
    if (healthz !== "ok") throw this.#error(`the plug-in is not healthy: ${healthz}`);
    if (keyId === undefined || keyId === "") throw this.#error("the status has no key ID");
    return keyId;
  }

  #check(fields: Fields): void {
    const { ciphertext, keyId, annotations } = partsOfWrapped(fields);
    const sum = annotations.reduce((bytes, { length }) => bytes + length, 0);
    if (ciphertext.length === 0 || ciphertext.length > wrappedBytesMax)
      throw this.#error(
        `a ciphertext of ${ciphertext.length} bytes, expected 1 to ${wrappedBytesMax}`,
      );
    if (keyId === "" || Buffer.byteLength(keyId) > keyIdBytesMax)
      throw this.#error(
        `a key ID of ${keyId.length} characters, expected 1 to ${keyIdBytesMax} bytes`,
      );
    if (sum > annotationsBytesMax)
      throw this.#error(`annotations of ${sum} bytes, more than ${annotationsBytesMax}`);
  }

  async #call(method: string, request: BinaryWriter): Promise<Uint8Array> {
    const { clock, timeoutMs } = this.#options;
    try {
      const connection = await Connection.open(this.#endpoint, {
        clock,
        connectTimeoutMs: timeoutMs,
        keepaliveIntervalMs: timeoutMs,
        keepaliveTimeoutMs: timeoutMs,
        responseBytesMax: annotationsBytesMax * 2,
      });
      try {
        const path = `/v2.KeyManagementService/${method}`;
        const { signal } = new AbortController();
        return await callUnary(connection, path, request.finish(), {
          clock,
          timeoutMs,
          signal,
          metadata: {},
        });
      } finally {
        connection.destroy("the call has ended");
      }
    } catch (error) {
      throw this.#error(`${method}: ${(error as Error).message}`, error);
    }
  }

  /** Names the call in the plug-in's log. */
  #uid(): string {
    return `kcp-${process.pid}-${++this.#calls}`;
  }

  #error(message: string, cause?: unknown): Error {
    return new Error(`KMS plug-in ${this.#options.endpoint}: ${message}`, { cause });
  }
}

/** The wire type of bytes, strings and messages. */
const bytesType = 2;
const tag = (field: number, type: number) => (field << 3) | type;

/** The values of the length-delimited fields of a message, by number. */
type Fields = ReadonlyMap<number, readonly Uint8Array[]>;

function fieldsOf(message: Uint8Array): Fields {
  const fields = new Map<number, Uint8Array[]>();
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (type !== bytesType) reader.skip(type);
    else fields.set(field, [...(fields.get(field) ?? []), reader.bytes()]);
  }
  return fields;
}

function textOf(fields: Fields, field: number): string | undefined {
  const [value] = fields.get(field) ?? [];
  return value === undefined ? undefined : Buffer.from(value).toString("utf8");
}

function wrappedKey(wrapped: Uint8Array): ReturnType<typeof partsOfWrapped> {
  return partsOfWrapped(fieldsOf(wrapped));
}

function partsOfWrapped(fields: Fields) {
  return {
    ciphertext: fields.get(1)?.[0] ?? new Uint8Array(),
    keyId: textOf(fields, 2) ?? "",
    // Entries of a map: messages, which are passed on as they are.
    annotations: fields.get(3) ?? [],
  };
}
