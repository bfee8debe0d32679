/** Texts of others may be of any length: what is drawn at once is bounded, the rest on request. */
import { useState } from "preact/hooks";

interface LongTextProps {
  readonly text: string;
  readonly charactersMax?: number;
}

/** Isolated: text from right to left changes nothing around it. */
export function LongText({ text, charactersMax = 1000 }: LongTextProps) {
  const [isWhole, setWhole] = useState(false);
  if (isWhole || text.length <= charactersMax) return <bdi>{text}</bdi>;
  return (
    <>
      <bdi>{text.slice(0, charactersMax)}</bdi>
      <button type="button" class="plain" onClick={() => setWhole(true)}>
        {`… show all ${text.length.toLocaleString("en")} characters`}
      </button>
    </>
  );
}

const yamlCharactersMax = 64_000;

export function LongYaml({ text }: { readonly text: string }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > yamlCharactersMax;
  return (
    <>
      {isCut ? (
        <p role="status">
          {`The first ${yamlCharactersMax.toLocaleString("en")} of ${text.length.toLocaleString("en")} characters. `}
          <button type="button" onClick={() => setWhole(true)}>
            Show all
          </button>
        </p>
      ) : null}
      <pre class="yaml" dir="ltr" tabIndex={0}>
        {isCut ? text.slice(0, yamlCharactersMax) : text}
      </pre>
    </>
  );
}
