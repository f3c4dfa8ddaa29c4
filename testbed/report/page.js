"use strict";
// Draws the charts of a report. Times are in seconds. All charts show the same part of the run.
(async () => {
  const FINER = 10, LEAST = 60, KEYS = "Plus and minus zoom, arrows move, 0 shows the whole run, Shift with arrows reads values.";
  const one = (query, from = document) => from.querySelector(query);
  const all = (query, from = document) => [...from.querySelectorAll(query)];
  const make = (tag, props = {}, ...inside) => {
    const found = Object.assign(document.createElement(tag), props);
    found.append(...inside);
    return found;
  };
  const bytes = Uint8Array.from(atob(one("#data").textContent), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const run = JSON.parse(await new Response(stream).text());
  if (!run.end_s) return;
  all("details.alternative").forEach((each) => { each.open = false; });

  const significant = (value) => Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
  const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]], PARTS = [[1, ""], [1e-3, "m"], [1e-6, "u"], [1e-9, "n"]];
  const prefixed = (value, unit, top) => {
    const steps = unit === "s" ? PARTS : PREFIXES, size = Math.abs(top ?? value) || 1;
    const [step, prefix] = steps.find(([each]) => size >= each * 0.9999) ?? steps.at(-1);
    return [value / step, prefix + unit];
  };
  const shown = (value, unit, top) => {
    if (value == null) return "–";
    if (unit === "s") {
      const [number, name] = prefixed(value, "s", top);
      return `${Number(number.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 6 })} ${name}`;
    }
    if (!["bit/s", "bytes"].includes(unit)) return `${significant(value)} ${unit}`.trim();
    const [number, name] = prefixed(value, unit === "bytes" ? "B" : unit, top);
    return `${significant(number)} ${name}`;
  };

  const whole = Math.max(run.end_s, run.reference_s ?? 0), dark = matchMedia("(prefers-color-scheme: dark)");
  const view = { min: 0, max: whole }, charts = [];
  const status = make("p", { className: "unseen", role: "status" });
  const range = make("output", { className: "range" });
  const show = (min, max) => {
    const span = Math.min(whole, Math.max(max - min, whole / 1e6, 2e-9));
    const from = Math.min(Math.max(0, min), whole - span);
    Object.assign(view, { min: from, max: from + span });
    charts.forEach((chart) => chart.draw());
    range.textContent = `${shown(view.min, "s", whole)} to ${shown(view.max, "s", whole)}`;
  };
  const zoom = (factor, at = (view.min + view.max) / 2) => show(at - (at - view.min) * factor, at + (view.max - at) * factor);
  const move = (share) => show(view.min + share * (view.max - view.min), view.max + share * (view.max - view.min));
  const reset = () => show(0, whole);

  const look = () => ({
    text: getComputedStyle(document.body).color,
    grid: dark.matches ? "#ffffff22" : "#00000018",
    colours: dark.matches ? ["#56b4e9", "#e69f00", "#2fc295", "#e29bc4"] : ["#0072b2", "#d55e00", "#00805d", "#b0508a"],
  });
  const axes = (unit, more = {}) => {
    const { text, grid } = look(), common = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
    const time = { ...common, space: 90, values: (u, ticks) => ticks.map((at) => shown(at, "s", ticks.at(-1) || whole)) };
    const y = { ...common, size: 84, values: (u, ticks) => ticks.map((at) => shown(at, unit, ticks.at(-1))), ...more };
    return [time, y];
  };
  const background = (u) => {
    const { ctx, bbox } = u, at = (time) => u.valToPos(time, "x", true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = "#d9770629";
    run.windows.forEach(([, since, until]) => ctx.fillRect(at(since), bbox.top, Math.max(1, at(until) - at(since)), bbox.height));
    if (run.reference_s) {
      ctx.strokeStyle = look().text;
      ctx.setLineDash([2, 4]);
      ctx.beginPath();
      ctx.moveTo(at(run.reference_s), bbox.top);
      ctx.lineTo(at(run.reference_s), bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  };
  const cursor = () => ({
    sync: { key: "run", scales: ["x", null], filters: { pub: (type) => ["mousemove", "mouseleave"].includes(type) } },
    drag: { x: true, y: false, setScale: false },
    bind: { dblclick: () => reset },
    y: false,
  });
  const selected = (u) => {
    const { left, width } = u.select;
    if (width < 3) return;
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    show(u.posToVal(left, "x"), u.posToVal(left + width, "x"));
  };

  // Points of the two levels of detail. A state has its least and its most in each coarse interval.
  const timesOf = (kind, coarse, count) => {
    const step = run.interval_s * (coarse ? FINER : 1), twice = coarse && kind === "state";
    return Array.from({ length: count }, (_, number) => {
      const start = step * (twice ? number >> 1 : number), stop = start < run.end_s ? Math.min(start + step, run.end_s) : start + step;
      return start + (stop - start) * (twice ? 0.25 + 0.5 * (number & 1) : 0.5);
    });
  };
  const valuesOf = (line, kind, coarse) => {
    if (!coarse && line.fine) return line.fine;
    if (coarse) return line.coarse;
    return line.coarse.flatMap((value) => Array(kind === "state" ? FINER / 2 : FINER).fill(kind === "count" ? value / FINER : value));
  };
  const level = (spec, coarse) => {
    const lines = spec.lines.map((line) => valuesOf(line, spec.kind, coarse)), count = Math.max(...lines.map((line) => line.length));
    return [timesOf(spec.kind, coarse, count), ...lines.map((line) => [...line, ...Array(count - line.length).fill(null)])];
  };
  const styleOf = (line, number, lines) => {
    const { colours, text } = look();
    const stroke = {
      line: colours[number % colours.length], low: `${colours[0]}66`, high: `${colours[0]}66`, median: colours[0], extreme: colours[1],
      reference: lines.length > 1 && line.of ? colours[Math.max(0, lines.findIndex((each) => each.name === line.of && each.role === "line"))] : text,
    }[line.role];
    return { stroke, width: line.role === "low" || line.role === "high" ? 1 : 1.6, dash: line.role === "reference" ? [7, 5] : undefined };
  };
  const chart = (place, spec) => { // Values have room: a legend that grows would move the charts under the mouse.
    const levels = { true: level(spec, true), false: spec.lines.some((line) => line.fine) ? level(spec, false) : null };
    const counted = (coarse) => (spec.kind === "count" ? ` in ${shown(run.interval_s * (coarse ? FINER : 1), "s")}` : "");
    let coarse = true;
    const series = spec.lines.map((line, number) => ({
      label: line.name, scale: line.scale ?? "y", points: { show: false }, ...styleOf(line, number, spec.lines),
      value: (u, value) => (value == null ? "–" : shown(value, spec.kind === "count" ? "" : line.unit ?? spec.unit) + counted(coarse)),
    }));
    const roles = spec.lines.map((line) => line.role), scale = { range: (u, low, high) => [0, (high || 1) * 1.06] };
    const options = {
      width: place.clientWidth, height: 190, cursor: cursor(),
      scales: { x: { time: false, auto: false }, y: scale, other: scale },
      axes: [...axes(spec.unit), ...(spec.other ? [{ ...axes(spec.other)[1], scale: "other", side: 1, grid: { show: false } }] : [])],
      series: [{ label: "time", value: (u, at) => (at == null ? "–" : shown(at, "s", whole)) }, ...series],
      bands: roles.includes("low") ? [{ series: [roles.indexOf("high") + 1, roles.indexOf("low") + 1], fill: `${look().colours[0]}33` }] : [],
      hooks: { drawClear: [background], setSelect: [selected] },
    };
    const u = new uPlot(options, levels.true, place);
    all(".u-legend .u-series:not(:first-child) th", u.root).forEach((head) => {
      Object.assign(head, { tabIndex: 0, role: "button", title: "show or hide" });
      head.onkeydown = (event) => {
        if (!["Enter", " "].includes(event.key)) return;
        event.preventDefault();
        event.stopPropagation();
        head.click();
      };
    });
    return {
      u, read: () => spec.lines.map((line, number) => `${line.name} ${series[number].value(u, u.data[number + 1][u.cursor.idx])}`),
      draw: () => {
        const wanted = !levels.false || (view.max - view.min) / (run.interval_s * FINER) >= LEAST;
        if (wanted !== coarse) u.setData(levels[(coarse = wanted)], false);
        u.setScale("x", view);
      },
    };
  };

  // Spans and marks by lane. A folded row has a strip for each of its lanes.
  const timeline = (place) => {
    const { lanes, states, kinds, levels, texts } = run.timeline, ROW = 22, TOP = 10;
    const items = (numbers, long) => {
      const found = [], size = long ? 5 : 4;
      for (let at = 0, time = 0; at < numbers.length; at += size) {
        time += numbers[at];
        const stop = long ? time + numbers[at + 1] : time, [what, count, text] = numbers.slice(at + size - 3, at + size);
        found.push({ start: time / 1e9, stop: stop / 1e9, what, count, text, number: found.length });
      }
      return found;
    };
    const read = levels.map((each) => ({
      step: each.step_s, spans: each.spans.map((row) => items(row, true)), marks: each.marks.map((row) => items(row, false)),
    }));
    const groups = [...new Set(lanes.map(([group]) => group))], open = new Set();
    const flight = Object.keys(states).find((number) => states[number][1].startsWith("message posted"));
    let rows = [], using = read[0];
    const arrange = () => {
      let y = 0;
      rows = groups.flatMap((group) => {
        const members = lanes.map((lane, number) => number).filter((number) => lanes[number][0] === group);
        const single = members.map((number) => ({ lanes: [number], label: lanes[number][1] }));
        return group ? [{ lanes: members, label: group, group }, ...(open.has(group) ? single : [])] : single;
      });
      rows.forEach((row) => {
        row.height = row.group ? Math.max(ROW, Math.min(groups.length > 8 ? 32 : 72, row.lanes.length)) : ROW;
        row.top = y;
        y += row.height + 1;
      });
      return y;
    };
    const what = (item, long) => {
      const text = texts[item.text] ?? (long ? states : kinds)[item.what][1], many = item.count > 1 ? ` and ${item.count - 1} more` : "";
      const when = long ? `${shown(item.start, "s", whole)} to ${shown(item.stop, "s", whole)} (${shown(item.stop - item.start, "s")})` : shown(item.start, "s", whole);
      return `${long ? "" : `${kinds[item.what][1]}: `}${text}${many}, ${when}`;
    };
    const paint = (u) => {
      const { ctx, bbox } = u, ratio = devicePixelRatio, at = (time) => u.valToPos(time, "x", true), { grid } = look();
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.textAlign = "center";
      ctx.textBaseline = "middle";
      ctx.font = `bold ${11 * ratio}px system-ui, sans-serif`;
      rows.forEach((row) => {
        const height = (row.height * ratio) / row.lanes.length, base = bbox.top + row.top * ratio, alone = row.lanes.length === 1;
        ctx.fillStyle = grid;
        ctx.fillRect(bbox.left, base + row.height * ratio, bbox.width, ratio);
        row.lanes.forEach((lane, place) => {
          const y = base + place * height;
          using.spans[lane].forEach((span) => {
            if (span.stop < view.min || span.start > view.max) return;
            const left = at(span.start), third = alone && span.what === Number(flight) ? height / 4 : 0;
            ctx.fillStyle = states[span.what][0];
            ctx.fillRect(left, y + (third ? third * (span.number % 4) : 0), Math.max(ratio, at(span.stop) - left - (alone ? ratio / 2 : 0)), third ? third - ratio / 2 : Math.max(height - (alone ? ratio : 0), 0.5));
          });
          let upto = -Infinity;
          using.marks[lane].forEach((mark) => {
            if (mark.start < view.min || mark.start > view.max) return;
            const [colour, , trouble, glyph] = kinds[mark.what], x = at(mark.start);
            ctx.fillStyle = colour;
            if (!alone) ctx.fillRect(x - ratio / 2, y, ratio * 1.5, Math.max(height, ratio));
            else if (!trouble) ctx.fillRect(x - ratio / 2, y + height * 0.6, ratio * 1.5, height * 0.4);
            else if (x < upto - 5 * ratio) return;
            else if (x < upto) ctx.fillRect(x, y + 2 * ratio, ratio * 1.5, height - 4 * ratio);
            else {
              upto = x + 10 * ratio;
              ctx.fillRect(x - 5 * ratio, y + height / 2 - 6 * ratio, 10 * ratio, 12 * ratio);
              ctx.fillStyle = "#fff";
              ctx.fillText(glyph, x, y + height / 2);
            }
          });
        });
      });
      ctx.restore();
    };
    const labels = make("div", { className: "labels" }), tip = make("div", { className: "tip", hidden: true });
    place.classList.add("lanes");
    place.append(labels, tip);
    const left = () => (place.clientWidth < 700 ? 118 : 190);
    const height = () => rows.at(-1).top + rows.at(-1).height + TOP + 44;
    arrange();
    const blank = axes("", { size: () => left(), values: () => [], grid: { show: false }, ticks: { show: false } });
    const u = new uPlot({
      width: place.clientWidth, height: height(), padding: [TOP, 10, 0, 0], legend: { show: false }, cursor: cursor(),
      scales: { x: { time: false, auto: false }, y: { range: [0, 1] } }, axes: blank,
      series: [{}, { show: true, paths: () => null, points: { show: false } }],
      hooks: { drawClear: [background], draw: [paint], setSelect: [selected] },
    }, [[0, whole], [0, 0]], place);
    const relabel = () => {
      labels.replaceChildren(...rows.map((row) => {
        const label = make(row.group ? "button" : "span", { textContent: row.label, title: row.label, className: row.group ? "fold" : "" });
        Object.assign(label.style, { top: `${row.top + TOP}px`, height: `${row.height}px`, width: `${left() - 8}px` });
        if (!row.group) return label;
        label.setAttribute("aria-expanded", String(open.has(row.group)));
        label.onclick = () => {
          if (!open.delete(row.group)) open.add(row.group);
          arrange();
          u.setSize({ width: place.clientWidth, height: height() });
          relabel();
          all(".fold", labels).find((each) => each.textContent === row.group).focus();
        };
        return label;
      }));
    };
    relabel();
    u.over.addEventListener("mouseleave", () => { tip.hidden = true; });
    u.over.addEventListener("mousemove", (event) => {
      const y = event.offsetY, time = u.posToVal(event.offsetX, "x"), near = u.posToVal(event.offsetX + 6, "x") - time;
      const row = rows.find((each) => y >= each.top && y <= each.top + each.height);
      const lane = row?.lanes[Math.min(row.lanes.length - 1, Math.floor(((y - row.top) / row.height) * row.lanes.length))];
      const mark = using.marks[lane]?.filter((each) => Math.abs(each.start - time) <= near).sort((a, b) => Math.abs(a.start - time) - Math.abs(b.start - time))[0];
      const span = using.spans[lane]?.filter((each) => each.start <= time && each.stop >= time).at(-1);
      tip.hidden = !mark && !span;
      if (tip.hidden) return;
      tip.textContent = `${lanes[lane][1]}: ${mark ? what(mark, false) : what(span, true)}`;
      Object.assign(tip.style, { top: `${row.top + row.height + TOP + 4}px`, left: `${Math.max(0, Math.min(left() + event.offsetX, place.clientWidth - 290))}px` });
    });
    const used = (list, name) => list.filter((each, number) => read[0][name].some((row) => row.some((item) => item.what === number)));
    place.after(make("div", { className: "legend" },
      ...used(states, "spans").map(([colour, meaning]) => make("span", {}, Object.assign(make("i"), { style: `background:${colour}` }), meaning)),
      ...used(kinds, "marks").map(([colour, meaning, trouble, glyph]) => make("span", {}, Object.assign(make("i"), { textContent: trouble ? glyph : "", className: "glyph", style: `background:${colour}` }), meaning))));
    return {
      u, read: () => ["the table has the marks of each lane"], resized: () => { relabel(); return height(); },
      draw: () => {
        const pixel = (view.max - view.min) / Math.max(1, u.bbox.width / devicePixelRatio);
        using = read.findLast((each) => each.step <= 2 * pixel) ?? read[0];
        u.setScale("x", view);
      },
    };
  };

  const reached = (place, name, drawn) => {
    Object.assign(place, { tabIndex: 0 });
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", `${name}, chart. ${KEYS} A table follows.`);
    const { u } = drawn, here = () => (u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : undefined);
    place.onkeydown = (event) => {
      if (event.target !== place || event.ctrlKey || event.altKey || event.metaKey) return;
      const way = event.key === "ArrowRight" ? 1 : -1;
      const read = () => {
        const width = u.over.clientWidth, left = Math.min(width - 1, Math.max(0, (u.cursor.left >= 0 ? u.cursor.left : width / 2) + (way * width) / 50));
        u.setCursor({ left, top: 0 });
        status.textContent = `${shown(u.posToVal(left, "x"), "s", whole)}: ${drawn.read().join(", ")}`;
      };
      const arrow = event.shiftKey ? read : () => move(way / 5);
      const action = {
        "+": () => zoom(0.5, here()), "=": () => zoom(0.5, here()), "-": () => zoom(2, here()), "_": () => zoom(2, here()),
        0: reset, Home: reset, Escape: reset, ArrowLeft: arrow, ArrowRight: arrow,
      }[event.key];
      if (!action) return;
      event.preventDefault();
      action();
      if (action !== read) status.textContent = range.textContent;
    };
    u.over.addEventListener("wheel", (event) => {
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (!event.ctrlKey && !event.shiftKey && !sideways) return;
      event.preventDefault();
      if (event.ctrlKey) zoom(event.deltaY > 0 ? 1.25 : 0.8, u.posToVal(event.offsetX, "x"));
      else move((sideways ? event.deltaX : event.deltaY) / u.over.clientWidth);
    }, { passive: false });
    u.over.addEventListener("mousedown", (event) => {
      if (!event.shiftKey) return;
      event.stopImmediatePropagation();
      let from = event.clientX;
      const follow = (moved) => { move((from - moved.clientX) / u.over.clientWidth); from = moved.clientX; };
      addEventListener("mousemove", follow);
      addEventListener("mouseup", () => removeEventListener("mousemove", follow), { once: true });
    }, { capture: true });
    new ResizeObserver(() => {
      if (place.clientWidth !== u.width) u.setSize({ width: place.clientWidth, height: drawn.resized?.() ?? u.height });
    }).observe(place);
    charts.push(drawn);
    return drawn;
  };
  let chosen = null;
  const choose = (name) => {
    const place = one("#link-chart"), { waiting, received } = run.links[name], lines = [];
    if (waiting) lines.push({ name: "frames waiting", role: "line", unit: "frames", ...waiting });
    if (received) lines.push({ name: "received", role: "line", unit: "bit/s", scale: waiting ? "other" : "y", ...received });
    if (chosen) charts.splice(charts.indexOf(chosen), 1);
    place.replaceChildren();
    one("#link").textContent = `${name} over time`;
    const spec = { kind: waiting ? "state" : "rate", unit: lines[0].unit, other: waiting && received ? "bit/s" : undefined, lines };
    chosen = reached(place, name, chart(place, spec));
    chosen.draw();
  };
  const build = () => {
    charts.forEach(({ u }) => u.destroy());
    charts.length = 0;
    chosen = null;
    all(".plot, #timeline").forEach((place) => place.replaceChildren());
    all("#timeline + .legend").forEach((legend) => legend.remove());
    all("[data-chart]").forEach((place) => {
      const spec = run.charts[place.dataset.chart];
      reached(place, spec.title, chart(place, spec));
    });
    const place = one("#timeline"), radios = all("input[name=link]");
    if (place && run.timeline.lanes) reached(place, "timeline", timeline(place));
    const radio = radios.find((each) => each.checked) ?? radios[0];
    if (radio) {
      radio.checked = true;
      choose(radio.value);
    }
    show(view.min, view.max);
  };
  const button = (text, label, action) => make("button", { type: "button", textContent: text, title: label, ariaLabel: label, onclick: action });
  const tools = make("div", { className: "tools", role: "toolbar", ariaLabel: "part of the run that all charts show" },
    button("+", "zoom in", () => zoom(0.5)), button("−", "zoom out", () => zoom(2)), button("◀", "earlier", () => move(-0.2)),
    button("▶", "later", () => move(0.2)), button("whole run", "show the whole run", reset), range, status);
  one("#tools")?.replaceWith(tools);
  all("input[name=link]").forEach((radio) => { radio.onchange = () => choose(radio.value); });
  build();
  dark.addEventListener("change", build);
})();
