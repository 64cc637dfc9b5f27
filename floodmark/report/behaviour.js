const open = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) { target.open = true; target.scrollIntoView(); }
};
addEventListener("hashchange", open);
open();
const search = document.getElementById("search");
const rows = [...document.querySelectorAll("#log tbody tr")];
const count = document.getElementById("count");
const filter = () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    shown += row.hidden ? 0 : 1;
  }
  count.textContent = `${shown} of ${rows.length} rows`;
};
if (search) { search.addEventListener("input", filter); filter(); }
