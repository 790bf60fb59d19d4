// Draws the diagrams of a Markdown document in their places. One with a fault keeps
// its source, and is told of with its line.
(async () => {
  const font = getComputedStyle(document.body).fontFamily;
  mermaid.initialize({
    startOnLoad: false, securityLevel: 'strict', suppressErrorRendering: true, logLevel: 'fatal', deterministicIds: true,
    theme: 'base', layout: 'dagre', fontFamily: font, flowchart: {curve: 'basis', padding: 14}, sequence: {mirrorActors: false},
    themeVariables: {
      fontFamily: font, fontSize: '14px', background: '#ffffff', primaryColor: '#eef3fb', primaryBorderColor: '#5b7fb5', primaryTextColor: '#1f2328',
      secondaryColor: '#eef7f0', secondaryBorderColor: '#5d9a6c', tertiaryColor: '#fdf6e7', tertiaryBorderColor: '#c79a3a',
      useGradient: false, dropShadow: 'none',
      pie1: '#8fb0e0', pie2: '#9ccfa8', pie3: '#f0cd84', pie4: '#dfa3a0', pie5: '#b9a8dc', pie6: '#9fd0d6', pie7: '#e6b48d', pie8: '#c3cbd4',
      pieStrokeColor: '#ffffff', pieStrokeWidth: '1.5px', pieOuterStrokeWidth: '0px', pieOpacity: '1',
      lineColor: '#59636e', textColor: '#1f2328', noteBkgColor: '#fff8db', noteBorderColor: '#d4b106', edgeLabelBackground: '#ffffff',
    },
  });
  let n = 0;
  for (const source of document.querySelectorAll('pre[data-diagram]')) {
    const id = 'diagram-' + ++n;
    try {
      const {svg} = await mermaid.render(id, source.textContent);
      const figure = document.createElement('figure');
      figure.className = 'diagram';
      figure.innerHTML = svg;
      source.replaceWith(figure);
    } catch (fault) {
      document.querySelector('#d' + id)?.remove();
      const text = String(fault?.message ?? fault).replace(/\s+/g, ' ').trim();
      const below = Number(/line:? ?(\d+)/i.exec(text)?.[1]) || 1;
      console.error(`line ${Number(source.dataset.diagram) + below - 1}: the diagram cannot be drawn: ${text.replace(/ on line:? ?\d+|,? Expecting .*/gi, '').slice(0, 200)}`);
    }
  }
})();
