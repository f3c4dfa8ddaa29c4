/* What users type here are options and dotted names, but the search reads a leading "-" as "without". */
const asTyped = Worker.prototype.postMessage;
const QUERY = 2;
Worker.prototype.postMessage = function (message, ...others) {
  if (message?.type === QUERY)
    message = { ...message, data: message.data.split(/\s+/).map(searched).join(" ") };
  return asTyped.call(this, message, ...others);
};

function searched(word) {
  /* "--world": the dashes belong to the name. They are escaped twice, because the search parses twice. */
  if (/^-+\w/.test(word)) return word.replace(/^-+/, (dashes) => "\\\\\\-".repeat(dashes.length));
  /* "switch.memory": what is found has every part, best in the section "switch"; the last part may go on. */
  if (/^\w+(\.\w+)+$/.test(word)) return `+${word.replaceAll(".", "^10 +")}*`;
  return word;
}
