/**
 * Runs an update or an apply whose versions are converted asynchronously, for example by a webhook.
 *
 * Both operations are pure, so they can run again with the conversions that arrived meanwhile: the
 * n-th conversion of one run is the n-th conversion of the next.
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
