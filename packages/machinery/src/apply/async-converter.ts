/**
 * Runs an update or an apply whose versions are converted elsewhere, for example by a webhook.
 *
 * Both are pure, so that they can be run again with the answers that came in meanwhile: the n-th question of one run is the n-th question of
 * the next.
 */
import type { JsonObject } from "../json/index.ts";
import type { VersionConverter, Versioned } from "./versions.ts";

export type AsyncVersionConverter = (
  object: JsonObject,
  apiVersion: string,
) => Promise<Versioned | undefined>;

export async function withAsyncConverter<Result>(
  convert: AsyncVersionConverter,
  run: (converter: VersionConverter) => Result,
): Promise<Result> {
  const answers: (Versioned | undefined)[] = [];
  for (;;) {
    let asked = 0;
    const converter: VersionConverter = (object, apiVersion) => {
      if (asked < answers.length) return answers[asked++];
      throw new ConversionNeeded(object, apiVersion);
    };
    try {
      return run(converter);
    } catch (error) {
      if (!(error instanceof ConversionNeeded)) throw error;
      answers.push(await convert(error.object, error.apiVersion));
    }
  }
}

class ConversionNeeded extends Error {
  override readonly name = "ConversionNeeded";
  readonly object: JsonObject;
  readonly apiVersion: string;

  constructor(object: JsonObject, apiVersion: string) {
    super(`conversion to ${apiVersion} needed`);
    this.object = object;
    this.apiVersion = apiVersion;
  }
}
