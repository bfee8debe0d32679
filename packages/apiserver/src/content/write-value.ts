/** A value as the texts of an answer, in the format that was asked for. */
import { type JsonObject, type JsonValue, stringifyInPieces } from "@kcp-ts/machinery/json";
import type { MediaType } from "./negotiate.ts";
import { toYaml } from "./yaml.ts";
import { YamlScalars, yamlEnd, yamlItemTexts, yamlTexts } from "./yaml-writer.ts";

export type Texts = Generator<string | undefined, void, void>;

export function* valueTexts(value: JsonValue, mediaType: MediaType): Texts {
  if (mediaType === "application/yaml") yield* yamlTexts(value);
  else yield* jsonTexts(value);
}

function* jsonTexts(value: JsonValue): Texts {
  const work = stringifyInPieces(value);
  for (;;) {
    const { done, value: text } = work.next();
    yield text ?? undefined;
    if (done === true) return;
  }
}

/** How a list is written whose items come one by one: `head` is everything else of it, and `member` is what they are called. */
export interface ListWriter {
  opening(head: JsonObject, member: string): string;
  item(value: JsonValue): Texts;
  /** To be called when the last item was written, or none. */
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

  *item(value: JsonValue): Texts {
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

  *item(value: JsonValue): Texts {
    if (!this.#hasItems) yield "\n";
    this.#hasItems = true;
    for (const text of yamlItemTexts(value, this.#scalars)) {
      yield text;
      this.#last = text;
    }
  }

  closing(): string {
    return this.#hasItems ? yamlEnd(this.#last) : " []\n";
  }
}
