/** Dialogs that an address may open: an action of the go-to box is a place, too. */
import { useState } from "preact/hooks";
import { setQuery } from "./location.ts";
import type { Route } from "./routes.ts";

/** `do` in the address opens the dialog of that name; closing it removes it. */
export function useDialog(
  query: Route["query"],
  name: string,
): readonly [isOpen: boolean, setOpen: (isOpen: boolean) => void] {
  const [isOpen, setOpen] = useState(false);
  const isAsked = query["do"] === name;
  const change = (next: boolean) => {
    if (isAsked) setQuery({ do: "" });
    setOpen(next);
  };
  return [isOpen || isAsked, change];
}
