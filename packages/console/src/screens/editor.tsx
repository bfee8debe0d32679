/**
 * The YAML of an object, and its change: the server reads the text in a dry run, the difference is
 * shown, and only then it is written. A conflict is shown as what others have changed meanwhile.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import type { DynamicObject } from "@kcp-ts/sdk/client";
import { resourcePath } from "@kcp-ts/sdk/client";
import { useState } from "preact/hooks";
import { DiffView, ErrorNotice, formatYaml } from "../elements/index.ts";
import { useAccess } from "../live/index.ts";
import { useSession } from "../session/index.ts";
import type { ObjectProps } from "./object.tsx";

/** What the user works on: the text, and the state of the object that the text began from. */
interface Draft {
  readonly base: DynamicObject;
  readonly text: string;
}

type Step =
  | { readonly kind: "editing" }
  | { readonly kind: "review"; readonly outcome: DynamicObject }
  | { readonly kind: "conflict"; readonly theirs: DynamicObject }
  | { readonly kind: "written" };

function yamlOf({ metadata, ...rest }: DynamicObject, withManagers: boolean): string {
  const { managedFields, ...others } = metadata;
  const shown = withManagers ? { ...others, managedFields } : others;
  const { apiVersion, kind, ...content } = rest;
  return formatYaml({ apiVersion, kind, metadata: shown, ...content } as never);
}

/** The text of the version that the text is to replace: that of the newest object. */
function withVersion(text: string, version: string): string {
  return text.replace(/^( {2}resourceVersion: ).*$/m, `$1${JSON.stringify(version)}`);
}

export function Editor({ cluster, resource, object }: ObjectProps) {
  const client = useSession().clientIn(cluster);
  const [draft, setDraft] = useState<Draft | undefined>(undefined);
  const [step, setStep] = useState<Step>({ kind: "editing" });
  const [error, setError] = useState<unknown>(undefined);
  const [withManagers, setWithManagers] = useState(false);
  const [isRevealed, setRevealed] = useState(resource.kind !== "Secret");
  const { name, namespace } = object.metadata;
  const access = { group: resource.group, resource: resource.resource, namespace, name };
  const mayUpdate = useAccess(client, { ...access, verb: "update" });
  const path = resourcePath(resource, { name, namespace });
  const put = async (text: string, isTrial: boolean) => {
    const query = `${isTrial ? "dryRun=All&" : ""}fieldManager=kcp-console&fieldValidation=Strict`;
    const request = { method: "PUT", path: `${path}?${query}` } as const;
    return (await client.json({ ...request, text, contentType: "application/yaml" })) as never;
  };
  const attempt = async (work: () => Promise<Step>) => {
    setError(undefined);
    try {
      setStep(await work());
    } catch (failure) {
      if (!isStatusError(failure, "Conflict")) return setError(failure);
      const theirs = await client.resource(resource).get({ name, namespace });
      setStep({ kind: "conflict", theirs: theirs as DynamicObject });
    }
  };
  const run = (work: () => Promise<Step>) => {
    attempt(work).catch(setError);
  };
  if (!isRevealed)
    return (
      <p>
        <button type="button" onClick={() => setRevealed(true)}>
          Show the values of this Secret
        </button>
      </p>
    );
  if (draft === undefined)
    return (
      <>
        <div class="bar">
          <button
            type="button"
            class="primary"
            disabled={mayUpdate !== true}
            title={mayUpdate === false ? `You may not update ${resource.resource} here` : undefined}
            onClick={() => {
              setStep({ kind: "editing" });
              setDraft({ base: object, text: yamlOf(object, false) });
            }}
          >
            Edit
          </button>
          <label class="check">
            <input
              type="checkbox"
              checked={withManagers}
              onChange={(event) => setWithManagers(event.currentTarget.checked)}
            />
            managedFields
          </label>
          {step.kind === "written" ? <span role="status">Written.</span> : null}
        </div>
        <pre class="yaml" tabIndex={0}>
          {yamlOf(object, withManagers)}
        </pre>
      </>
    );
  const { base, text } = draft;
  const leave = () => {
    setDraft(undefined);
    setError(undefined);
  };
  return (
    <>
      <div class="bar">
        {step.kind === "editing" ? (
          <button
            type="button"
            class="primary"
            onClick={() => run(async () => ({ kind: "review", outcome: await put(text, true) }))}
          >
            Review the change
          </button>
        ) : null}
        {step.kind === "review" ? (
          <button
            type="button"
            class="primary"
            onClick={() =>
              run(async () => {
                await put(text, false);
                leave();
                return { kind: "written" };
              })
            }
          >
            Write
          </button>
        ) : null}
        {step.kind === "conflict" ? (
          <button
            type="button"
            class="primary"
            onClick={() => {
              const { theirs } = step;
              const version = theirs.metadata.resourceVersion ?? "";
              setDraft({ base: theirs, text: withVersion(text, version) });
              setStep({ kind: "editing" });
            }}
          >
            Continue from the newest version
          </button>
        ) : null}
        {step.kind === "editing" ? null : (
          <button type="button" onClick={() => setStep({ kind: "editing" })}>
            Back to the text
          </button>
        )}
        <button type="button" onClick={leave}>
          Cancel
        </button>
      </div>
      {error === undefined ? null : <ErrorNotice error={error} />}
      {step.kind === "review" ? (
        <DiffView
          label="What the server would store"
          before={yamlOf(base, false)}
          after={yamlOf(step.outcome, false)}
        />
      ) : null}
      {step.kind === "conflict" ? (
        <Conflict base={yamlOf(base, false)} theirs={yamlOf(step.theirs, false)} mine={text} />
      ) : null}
      {step.kind === "editing" ? (
        <textarea
          class="yaml"
          aria-label={`YAML of ${name}`}
          spellcheck={false}
          value={text}
          onInput={(event) => setDraft({ base, text: event.currentTarget.value })}
        />
      ) : null}
    </>
  );
}

function Conflict({ base, theirs, mine }: { base: string; theirs: string; mine: string }) {
  return (
    <>
      <p role="alert">
        Another client has changed this object since you began. Nothing of yours is written.
      </p>
      <h3>What others changed</h3>
      <DiffView label="What others changed" before={base} after={theirs} />
      <h3>What your text would change now</h3>
      <DiffView label="What your text would change now" before={theirs} after={mine} />
    </>
  );
}
