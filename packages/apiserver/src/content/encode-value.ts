/** Encodes a value as the chunks of a response, in the requested format. */
import { type JsonObject, type JsonValue, stringifyResumable } from "@kcp-ts/machinery/json";
import type { MediaType } from "./negotiate.ts";
import { toYaml } from "./yaml.ts";
import { encodeYaml, encodeYamlItem, YamlScalars, yamlEnd } from "./yaml-writer.ts";

export type ValueChunks = Generator<string | undefined, void, void>;

export function* encodeValue(value: JsonValue, mediaType: MediaType): ValueChunks {
  if (mediaType === "application/yaml") yield* encodeYaml(value);
  else yield* jsonTexts(value);
}

function* jsonTexts(value: JsonValue): ValueChunks {
  const work = stringifyResumable(value);
  for (;;) {
    const { done, value: text } = work.next();
    yield text ?? undefined;
    if (done === true) return;
  }
}

/**
 * Encodes a list whose items arrive one by one: `head` contains all other fields, and `member` is
 * the field of the items.
 */
export interface ListWriter {
  opening(head: JsonObject, member: string): string;
  item(value: JsonValue): ValueChunks;
  /** Called after the last item, or without any. */
  closing(): string;
}

export function listWriter(mediaType: MediaType): ListWriter {
  return mediaType === "application/yaml" ? new YamlList() : new JsonList();
}

class JsonList implements ListWriter {
  #separator = "";

  opening(head: JsonObject, member: string): string {
    return `${JSON.stringify(head).slice(0, -1)},${JSON.stringify(member)}:[`;
  }

  *item(value: JsonValue): ValueChunks {
    yield this.#separator;
    this.#separator = ",";
    yield* jsonTexts(value);
  }

  closing(): string {
    return "]}";
  }
}

class YamlList implements ListWriter {
  readonly #scalars = new YamlScalars();
  #last = "";
  #hasItems = false;

  opening(head: JsonObject, member: string): string {
    return `${toYaml(head)}${member}:`;
  }

  *item(value: JsonValue): ValueChunks {
    if (!this.#hasItems) yield "\n";
    this.#hasItems = true;
    for (const text of encodeYamlItem(value, this.#scalars)) {
      yield text;
      this.#last = text;
    }
  }

  closing(): string {
    return this.#hasItems ? yamlEnd(this.#last) : " []\n";
  }
}
